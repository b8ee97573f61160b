# FTP in full (RFC 959, 2428, 3659, 4217): all of ftp, with commands about files, lists for machines, active mode, and TLS.
#
#   palaver talk ftp_full --client 2121        test the server at port 2121
#   palaver talk ftp_full --server 2121        test the clients that come to port 2121
#
# Everything that is not said here is as in ftp.fan. The user may also make, rename and delete what is in the folder UPLOAD. Names
# there are made up anew in each session, and some of the files are left behind. Who has a certificate may encrypt.

include('ftp_tls.fan')

import posixpath
import random
from functools import reduce


# --- States -----------------------------------------------------------------------------------------------------------
#
# An <act> says something about the files of the server, or changes them. If it needs a data connection, it begins by
# setting one up.

<start>          ::= <Server:Client:greeting> (<logged_out> | <encryption>)

<logged_out>     ::= (<failed_login> | <refusal> | <out_of_order> | <question_of_guest>)* (<login> <logged_in> | <goodbye>)

<logged_in>      ::= (<question> | <act> | <loose> | <set_protection>)* (<goodbye> | <start_over> | <another_login> | <extended_only>)

# Whoever begins anew is logged out, if the server lets them.
<start_over>     ::= <Client:Server:rein> (
    (<Server:Client:ready_again> | <Server:Client:welcome_again>) <logged_out> | <Server:Client:not_implemented> <logged_in>
)
<rein>           ::= "REIN\r\n"
<ready_again>    ::= r"(220-[\t -~]*\r\n((220-|[\t -/:-~])[\t -~]*\r\n)*)?220 " <rest>

# Who names a user is logged out as well (RFC 959, 4.1.1), if the server does not refuse it.
<another_login>  ::= <Client:Server:user> (
    <Server:Client:send_password> <Client:Server:password> <Server:Client:welcome> | <Server:Client:no_other_login>
) <logged_in>
<no_other_login> ::= r"(230|50[0-4]|53[0-2]) " <rest>

# [note] RFC 959 (5.4): who begins anew with REIN is answered with 220, and not with 230
<welcome_again>  ::= "230 " <rest>

# [note] RFC 959 (5.4): the server does not know the command, or does without it
<not_implemented> ::= r"(202|50[0-24]) " <rest>


# From here on data connections are set up by EPSV alone (RFC 2428, 4).
<extended_only>  ::= <Client:Server:epsv_all> (
    <Server:Client:all_done> (<Client:Server:other_setup> <Server:Client:not_so>)* | <Server:Client:not_implemented>
) <goodbye>
<epsv_all>       ::= "EPSV ALL\r\n"
<all_done>       ::= r"2[02]0 " <rest>
<other_setup>    ::= ("PASV" | "PORT 127,0,0,1,200,200" | "EPRT |1|127.0.0.1|50000|") "\r\n"


# --- Encryption -------------------------------------------------------------------------------------------------------
#
# Who asks for it may be told that there is none. It is asked for once. Data connections are encrypted if PROT said so
# and was answered well; REIN takes that back (RFC 2228, 3).

<encryption>     ::= <Client:Server:auth_tls> (<Server:Client:go_ahead> <auth_again>? <secret> | <Server:Client:no_tls> <logged_out>)
<secret>         ::= (<failed_login> | <refusal> | <question_of_guest>)* (<login> <secret_user> | <goodbye>)
<secret_user>    ::= <question>* <protect> <private>
<private>        ::= (<question> | <act>)* (<expose> <logged_in> | <goodbye>)
<auth_again>     ::= <Client:Server:auth_more> <Server:Client:not_so>
<auth_more>      ::= "AUTH TLS\r\n"
<no_tls>         ::= r"(202|421|431|50[0-4]|53[0-4]) " <rest>

<set_protection> ::= <Client:Server:pbsz> <Server:Client:protection_answer> (
    <Client:Server:prot_private> | <Client:Server:prot_clear>
) <Server:Client:protection_answer>
<protection_answer> ::= <done> | <no_protection>
<no_protection>  ::= r"(50[0-4]|53[0-6]|55[0-3]) " <rest>


# --- Guests -----------------------------------------------------------------------------------------------------------

<refusal>        ::= (<Client:Server:pwd> | <Client:Server:for_users>) <Server:Client:denied>
<for_users>      ::= (
    "CWD /docs" | "CDUP" | "LIST" | "NLST" | "PASV" | "EPSV" | "RETR /readme.txt" | "STOR /upload/guest" |
    "SIZE /readme.txt" | "DELE /upload/guest" | "MKD /upload/guest" | "RMD /empty" | "RNFR /readme.txt" | "RNTO /upload/guest" |
    "MDTM /readme.txt" | "APPE /upload/guest" | "PORT 127,0,0,1,200,200"
) "\r\n"

# A password without a name.
<out_of_order>   ::= <Client:Server:wrong_password> <Server:Client:not_now>
<not_now>        ::= r"(503|530) " <rest>
MESSAGE_DEADLINES["<not_now>"] = 40

<question_of_guest> ::= (<Client:Server:noop> | <Client:Server:feat> | <Client:Server:help> | <Client:Server:syst> | <Client:Server:stat>) <guest_answer>
<guest_answer>   ::= <Server:Client:told_guest> | <Server:Client:denied>
<told_guest>     ::= (
    r"((200|21[1-5])-[\t -~]*\r\n((200-|21[1-5]-|[\t -/:-~])[\t -~]*\r\n)*)?(200|21[1-5]) " <rest>
)


# --- Questions --------------------------------------------------------------------------------------------------------

<question>       ::= (
    <ask_system> | <ask_features> | <visit> | <climb> | <not_gone> | <set_option> | <set_ascii> | <set_binary> |
    <pause> | <ask_help> | <ask_status> | <set_structure> | <allocate> | <account> | <site> | <abort> | <mistake>
)

# RFC 1123 (4.1.3.1): the commands of an earlier standard are still understood.
<cwd>            ::= ("CWD " | "XCWD ") <folder> "\r\n"
<pwd>            ::= ("PWD" | "XPWD") "\r\n"

# The folder above is the one without the last name.
<climb>          ::= (
    <Client:Server:cwd> <Server:Client:changed> <Client:Server:cdup> <Server:Client:climbed>
    <Client:Server:pwd> <Server:Client:here>
)
<cdup>           ::= ("CDUP" | "XCUP") "\r\n"
<climbed>        ::= r"((200|250)-[\t -~]*\r\n(((200|250)-|[\t -/:-~])[\t -~]*\r\n)*)?(200|250) " <rest>
where forall <c> in <climb>: str(<c>.<here>.<folder>) == posixpath.dirname(str(<c>.<cwd>.<folder>))

<not_gone>       ::= <Client:Server:cwd_nowhere> <Server:Client:no_file>
<cwd_nowhere>    ::= "CWD /" <word> "\r\n"
where forall <n> in <cwd_nowhere>: str(<n>.<word>) not in ("docs", "empty", "upload")

<pause>          ::= <Client:Server:noop> <Server:Client:done>
<noop>           ::= r"(?ai:NOOP)" "\r\n"

<ask_help>       ::= <Client:Server:help> <Server:Client:help_told> | <Client:Server:help_about> <Server:Client:help_about_told>
<help>           ::= "HELP\r\n"
<help_about>     ::= "HELP " ("RETR" | "STOR" | "QUIT") "\r\n"
<help_told>      ::= r"(21[14]-[\t -~]*\r\n((21[14]-|[\t -/:-~])[\t -~]*\r\n)*)?21[14] " <rest>
<help_about_told> ::= r"(21[14]-[\t -~]*\r\n((21[14]-|[\t -/:-~])[\t -~]*\r\n)*)?(21[14]|50[124]) " <rest>

<ask_status>     ::= (<Client:Server:stat> | <Client:Server:stat_of>) <Server:Client:status>
<stat>           ::= "STAT\r\n"
<stat_of>        ::= "STAT " (<folder> | <file>) "\r\n"
<status>         ::= r"(21[1-3]-[\t -~]*\r\n((21[1-3]-|[\t -/:-~])[\t -~]*\r\n)*)?21[1-3] " <rest>

# What every server has, and what no server has.
<set_structure>  ::= <Client:Server:stru_or_mode> <Server:Client:done>
<stru_or_mode>   ::= ("STRU F" | "MODE S") "\r\n"

<allocate>       ::= <Client:Server:allo> (<Server:Client:allocated> | <Server:Client:not_implemented>)
<allo>           ::= "ALLO " r"[1-9][0-9]{0,4}" "\r\n"
<allocated>      ::= r"20[02] " <rest>

# An account is needed by some servers, and superfluous to the others.
<account>        ::= <Client:Server:acct> <Server:Client:account_answer>
<acct>           ::= "ACCT " <word> "\r\n"
<account_answer> ::= r"(202|230|50[0-3]|530) " <rest>

<site>           ::= <Client:Server:site_help> (<Server:Client:site_told> | <Server:Client:not_implemented>)
<site_help>      ::= "SITE HELP\r\n"
<site_told>      ::= r"((200|21[14])-[\t -~]*\r\n(((200|21[14])-|[\t -/:-~])[\t -~]*\r\n)*)?(200|21[14]) " <rest>

# There is nothing to be aborted.
<abort>          ::= <Client:Server:abor> (<Server:Client:nothing_aborted> | <Server:Client:not_implemented>)
<abor>           ::= "ABOR\r\n"
<nothing_aborted> ::= r"22[56] " <rest>

<mistake>        ::= <Client:Server:mistaken> <Server:Client:not_so>
<mistaken>       ::= (
    "TYPE Q" | "STRU Q" | "MODE Q" | "EPRT |9|127.0.0.1|1|" | "PORT 127,0,0" | "PORT 1,2,3,4,5,x" |
    "AUTH XYZZY" | "PROT X" | "PROT S" |
    "MKD" | "RETR" | "DELE" | "SIZE" | "RNTO /upload/nothing" | r"XYZZY[A-Z]{0,4}" | "OPTS XYZZY" | "CWD /readme.txt"
) "\r\n"
<not_so>         ::= r"((50[0-4]|52[12]|53[0-6]|55[0-4])-[\t -~]*\r\n(((50[0-4]|52[12]|53[0-6]|55[0-4])-|[\t -/:-~])[\t -~]*\r\n)*)?(4[235][0-9]|50[0-4]|52[12]|53[0-6]|55[0-4]) " <rest>

# What servers may understand or not. It moves nobody, and needs no data connection.
<loose>          ::= <Client:Server:loose_words> <Server:Client:loose_answer>
<loose_words>    ::= (
    "TYPE A N" | "TYPE L 8" | "TYPE L7" | "STRU R" | "STRU P" | "MODE B" | "MODE C" | "ALLO x" | "ALLO 10 R 10" | "REST x" | "REST -1" |
    "OPTS UTF8 OFF" | "OPTS MLST type;size;" | "OPTS MLST type" | "OPTS MLST type size now" | "OPTS" | "HELP XYZZY" | "SITE" | "SITE XYZZY" | "SITE HELP CHMOD" |
    "SITE CHMOD" | "SITE CHMOD 644" | "SITE CHMOD 999 /upload/nothing" | "SITE HELP SITE CHMOD" | "STAT /*" | "STAT /nowhere" | "STAT /upload" | "MLST" | "MLST /nowhere" | "MDTM /docs" | "SIZE /docs" |
    "MFMT 20200102030405 /upload/nothing" | "MFMT 2020 /readme.txt" | "MFMT 20200102030405 /readme.txt" | "SITE CHMOD 644 /readme.txt" | "MFMT 20200102030405" | "RNFR /" | "RETR /docs" | "STOR /docs" | "DELE /docs" | "RMD /docs" | "RMD /" | "MKD /docs" |
    "CWD" | "CWD ../.." | "PWD now" | "PASS now" | "NOOP now" | "SYST now" | "noop" | "PBSZ x" | "PROT" |
    "PORT 127,0,0,1,300,1" | "PORT 300,0,0,1,200,200" | "PORT 127,0,0,2,200,200" | "PORT 127,0,0,1,0,80" | "EPRT 1" | "EPRT |1|127.0.0|50000|" | "EPRT |1|300.0.0.1|50000|" | "EPRT |2|::1|50000|" |
    "EPRT |1|127.0.0.2|50000|" | "EPRT |1|127.0.0.1|99999|" | "EPSV 9" | "EPSV 2"
) "\r\n"
<loose_answer>   ::= r"([2-5][0-9]{2}-[\t -~]*\r\n(([2-5][0-9]{2}-|[\t -/:-~])[\t -~]*\r\n)*)?[2-5][0-9]{2} " <rest>


# --- Acts -------------------------------------------------------------------------------------------------------------

<act>            ::= (
    <ask_size> | <ask_time> | <ask_facts> | <ask_for_gone> | <delete> | <rename> | <make> | <remove> | <permit> |
    <touch> | <connect> <transfer> | <announce> (<append> | <patch> | <resume_beyond>)
)

# RFC draft MFMT: a time that was set is told again.
<touch>          ::= <Client:Server:mfmt> <Server:Client:mfmt_answer>
<mfmt>           ::= "MFMT 20" r"[0-2][0-9]" "0102030405 " <some_file> "\r\n"
<mfmt_answer>    ::= <time_set> | <no_file> | <not_implemented>
<time_set>       ::= "213 " <rest>

<ask_size>       ::= <set_binary> <Client:Server:size> <Server:Client:size_told>
<size>           ::= "SIZE " <there> "\r\n"
<size_told>      ::= "213 " <number> "\r\n"

<ask_time>       ::= <Client:Server:mdtm> <Server:Client:time_told>
<mdtm>           ::= "MDTM " <there> "\r\n"
<time_told>      ::= (
    r"213 20[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])([01][0-9]|2[0-3])[0-5][0-9]([0-5][0-9]|60)(\.[0-9]+)?" "\r\n"
)

<ask_facts>      ::= <Client:Server:mlst> (<Server:Client:facts_told> | <Server:Client:not_implemented>)
<mlst>           ::= "MLST " (<there> | <folder>) "\r\n"
<facts_told>     ::= "250-" <rest> " " <fact>+ " " <name> "\r\n" "250 " <rest>
<fact>           ::= r"[A-Za-z][A-Za-z.\-]*=[!-:<-~]*;"

<ask_for_gone>   ::= <Client:Server:about_gone> <Server:Client:no_file>
<about_gone>     ::= ("SIZE " | "MDTM ") <gone> "\r\n"
<no_file>        ::= r"([45]50-[\t -~]*\r\n(([45]50-|[\t -/:-~])[\t -~]*\r\n)*)?[45]50 " <rest>

<delete>         ::= <Client:Server:dele> <Server:Client:dele_answer>
<dele>           ::= "DELE " <some_file> "\r\n"
<dele_answer>    ::= <changed> | <no_file>

# Whoever names nothing that can be renamed has not named anything.
<rename>         ::= <Client:Server:rnfr> <Server:Client:rnfr_answer> <Client:Server:rnto> <Server:Client:rnto_answer>
<rnfr>           ::= "RNFR " <some_file> "\r\n"
<rnfr_answer>    ::= <go_on> | <no_file>
<go_on>          ::= r"(350-[\t -~]*\r\n((350-|[\t -/:-~])[\t -~]*\r\n)*)?350 " <rest>
<rnto>           ::= "RNTO " <fresh> "\r\n"
<rnto_answer>    ::= <changed> | <not_named>
<not_named>      ::= "503 " <rest>

<make>           ::= <Client:Server:mkd> <Server:Client:mkd_answer>
<mkd>            ::= ("MKD " | "XMKD ") <new_folder> "\r\n"
<mkd_answer>     ::= <made> | <not_made>
<made>           ::= "257 \"" <name> "\"" <rest>
<not_made>       ::= r"(521|550) " <rest>

<remove>         ::= <Client:Server:rmd> <Server:Client:rmd_answer>
<rmd>            ::= ("RMD " | "XRMD ") <some_folder> "\r\n"
<rmd_answer>     ::= <changed> | <no_file>

<permit>         ::= <Client:Server:site_chmod> <Server:Client:chmod_answer>
<site_chmod>     ::= "SITE CHMOD 6" r"[04]{2} " <some_file> "\r\n"
<chmod_answer>   ::= <done> | <no_file> | <not_implemented>


# --- Transfers --------------------------------------------------------------------------------------------------------

<connect>        ::= (<open_data> | <announce>) (<pause> | <set_ascii> | <set_binary> | <ask_own_status>)?
<ask_own_status> ::= <Client:Server:stat> <Server:Client:status>
<epsv>           ::= "EPSV" " 1"? "\r\n"

<transfer>       ::= (
    <list> | <list_gone> | <facts_of_gone> | <list_names> | <list_facts> | <fetch> | <resume> | <fetch_gone> | <store> |
    <store_unique> | <abort>
)

<list_folder>    ::= "LIST\r\n" | "LIST " (<folder> | <file>) "\r\n"

# There is nothing to be listed, which some servers tell by an empty list.
<list_gone>      ::= <Client:Server:list_of_gone> (
    <nothing_listed> | <Server:Client:opening> (
        <ServerClose:ClientClose:closed> <Server:Client:complete_or_not> | <Server:Client:complete_or_not> <ServerClose:ClientClose:closed>
    )
)
<complete_or_not> ::= <complete> | <no_file>

# Who refuses needs no data connection any more, and may end what waits there before it says so, as ProFTPD does.
<nothing_listed> ::= <ServerData:ClientData:connection_reset>? <Server:Client:no_file>
<connection_reset> ::= ""
<list_of_gone>   ::= ("LIST " | "NLST ") <gone> "\r\n"

<facts_of_gone>  ::= <Client:Server:mlsd_gone> <ServerData:ClientData:connection_reset>? <Server:Client:not_listed>
<mlsd_gone>      ::= "MLSD " <gone> "\r\n"
<not_listed>     ::= r"(45[0-2]|50[0-4]|55[0-3]) " <rest>

<list_names>     ::= <Client:Server:nlst> <Server:Client:opening> <ServerData:ClientData:names>? (
    <ServerClose:ClientClose:closed> <Server:Client:complete> |
    <Server:Client:complete> <ServerData:ClientData:names>? <ServerClose:ClientClose:closed>
) | <Client:Server:nlst> <nothing_listed>
# [set by UPLOAD]
<nlst>           ::= "NLST\r\n" | "NLST " <folder> "\r\n" | "NLST /upload\r\n"
<names>          ::= (<name> "\r\n")+ := listed_names()
<name>           ::= r"[!#-~]([ !#-~]*[!#-~])?"

<list_facts>     ::= <Client:Server:mlsd> <Server:Client:opening> <ServerData:ClientData:facts>? (
    <ServerClose:ClientClose:closed> <Server:Client:complete> |
    <Server:Client:complete> <ServerData:ClientData:facts>? <ServerClose:ClientClose:closed>
) | <Client:Server:mlsd> <ServerData:ClientData:connection_reset>? <Server:Client:not_implemented>
# [set by UPLOAD]
<mlsd>           ::= "MLSD\r\n" | "MLSD " <folder> "\r\n" | "MLSD /upload\r\n"
<facts>          ::= (<fact>+ " " <name> "\r\n")+ := listed_facts()

<fetch>          ::= <Client:Server:retr> <Server:Client:opening> (
    <ServerData:ClientData:kept> <ServerClose:ClientClose:closed> <Server:Client:complete> |
    <Server:Client:complete> <ServerData:ClientData:kept> <ServerClose:ClientClose:closed>
)
<retr>           ::= "RETR " <there> "\r\n"
# Where a part was stored behind the end of a file, there may be zeros before it (RFC 3659, 5, leaves that open).
<kept>           ::= r"[\x00 -~\r\n]+"

# The rest of a file, from a place in it. What comes is not compared with what was stored.
<resume>         ::= <set_binary> <Client:Server:rest_at> <Server:Client:go_on> <Client:Server:retr> <Server:Client:opening> (
    <ServerData:ClientData:kept> <ServerClose:ClientClose:closed> <Server:Client:complete> |
    <Server:Client:complete> <ServerData:ClientData:kept> <ServerClose:ClientClose:closed>
)
<rest_at>        ::= "REST " <offset> "\r\n"
<offset>         ::= "0" | "1" | "7"

# From behind its end, nothing comes, if that is not refused.
<resume_beyond>  ::= <set_binary> <Client:Server:rest_far> <Server:Client:go_on> <Client:Server:retr> (
    <Server:Client:not_from_there> | <Server:Client:opening> (
        <ServerClose:ClientClose:closed> <Server:Client:complete> | <Server:Client:complete> <ServerClose:ClientClose:closed>
    )
)
<rest_far>       ::= "REST 99999999\r\n"
<not_from_there> ::= r"(45[0-2]|501|55[0-4]) " <rest>

<fetch_gone>     ::= <Client:Server:retr_gone> <Server:Client:no_file>
<retr_gone>      ::= "RETR " <gone> "\r\n"

<store>          ::= (
    <Client:Server:stor_text> <Server:Client:opening>
    <ClientData:ServerData:text> <ClientClose:ServerClose:closed> <Server:Client:complete>
)
<stor_text>      ::= "STOR " <own> "\r\n"

# The server finds a name, and tells it or not.
<store_unique>   ::= <Client:Server:cwd_upload> <Server:Client:changed> <Client:Server:stou> (
    <Server:Client:opening> <ClientData:ServerData:line> <ClientClose:ServerClose:closed> <Server:Client:complete> |
    <ServerData:ClientData:connection_reset>? <Server:Client:not_unique>
)
# [set by UPLOAD]
<cwd_upload>     ::= "CWD /upload\r\n"
<stou>           ::= "STOU\r\n"
<not_unique>     ::= r"(45[0-2]|50[0-4]|55[0-3]) " <rest>

# Part of a file is replaced. What it is then is not followed.
<patch>          ::= <set_binary> <Client:Server:rest_into> <Server:Client:go_on> <Client:Server:stor_part> (
    <Server:Client:opening> <ClientData:ServerData:part> <ClientClose:ServerClose:closed> <Server:Client:complete> |
    <Server:Client:not_appended>
)
<rest_into>      ::= "REST " (<offset> | "2000") "\r\n"
<stor_part>      ::= "STOR " <own> "\r\n"
<part>           ::= r"[ -~]{1,60}"

# In active mode: a server that refuses this may be quicker to reset a connection that it waits for than to say so.
<append>         ::= <Client:Server:appe> (
    <Server:Client:opening> <ClientData:ServerData:line> <ClientClose:ServerClose:closed> <Server:Client:complete> |
    <Server:Client:not_appended>
)
# [note] RFC 959 (5.4): nothing may be appended to files
<not_appended>   ::= r"(45[0-2]|50[0-3]|55[0-4]) " <rest>
<appe>           ::= "APPE " <own> "\r\n"

# Text of lines that end as they should, so that nothing changes on its way. It has eight characters at least.
<text>           ::= r"([ -~]{0,40}\r\n)*[ -~]{8,60}"
<line>           ::= r"[ -~]{1,60}"


# --- Active mode ------------------------------------------------------------------------------------------------------
#
# The client tells the port where it waits. As in passive mode, whoever learns it sets the data connection up.

<announce>       ::= (<Client:Server:port_command> | <Client:Server:eprt>) <Server:Client:done>
<port_command>   ::= "PORT 127,0,0,1," <own_bytes> "\r\n"
<eprt>           ::= "EPRT |1|127.0.0.1|" <own_port> "|\r\n"

<own_port>       ::= <number> := announce(int(<chosen_own_port>))
<chosen_own_port> ::= <number> := announce(int(<own_port>))
<own_bytes>      ::= <number> "," <number> := to_bytes(announce(int(<chosen_own_bytes>)))
<chosen_own_bytes> ::= <number> := announce(from_bytes(str(<own_bytes>)))


def announce(port):
    if ClientData.instance().is_fuzzer_controlled():
        port = free_port(port)
        ClientData.instance().open(port, ConnectionMode.OPEN)
    else:
        ServerData.instance().open(port, ConnectionMode.CONNECT)
    return port


# --- The files --------------------------------------------------------------------------------------------------------
#
# What was stored in this session is there, and what was removed is not. Of other sessions, some may be left: files have
# names that begin with f, folders with d, and what begins with n was never there.

<there>          ::= <path> | <file> := there()
<gone>           ::= <path> := gone()
<fresh>          ::= <path> := fresh("f")
<own>            ::= <path> := own_file()
<some_file>      ::= <path> := some_file()
<some_folder>    ::= <path> := some_folder()
<new_folder>     ::= <path> := new_folder()
# [set by UPLOAD]
<path>           ::= r"/upload/[dfn][a-z]{7}"

where reduce(follow, *<act>, Files()) is not None
where forall <p> in <there>: files_at(<p>).has_file(str(<p>))
where forall <p> in <gone>: not files_at(<p>).has(str(<p>))
where forall <p> in <fresh>: str(<p>)[8] == "f"
where forall <p> in <own>: str(<p>)[8] == "f"
where forall <p> in <some_file>: str(<p>)[8] in "fn"
where forall <p> in <some_folder>: str(<p>)[8] in "dn"
where forall <p> in <new_folder>: str(<p>)[8] == "d"
where forall <a> in <ask_size>: int(<a>.<size_told>.<number>) == size_due(<a>)
where forall <f> in <fetch>: str(<f>.<kept>) == text_due(<f>)
where forall <l> in <list_names>: is_right_list(<l>, <l>.<names>)
where forall <l> in <list_facts>: is_right_list(<l>, <l>.<facts>)
where forall <d> in <delete>: <d>.<dele_answer> == due(<d>, <d>.<dele_answer>, "250", "450 550")
where forall <r> in <rename>: <r>.<rnfr_answer> == due(<r>, <r>.<rnfr_answer>, "350", "450 550")
where forall <r> in <rename>: <r>.<rnto_answer> == due(<r>, <r>.<rnto_answer>, "250", "503")
where forall <m> in <make>: <m>.<mkd_answer> == due(<m>, <m>.<mkd_answer>, "521 550", "257 521 550")
where forall <m> in <make>: str(<m>.<mkd>.<new_folder>) == str(<m>.<mkd_answer>.<made>.<name>)
where forall <r> in <remove>: <r>.<rmd_answer> == due(<r>, <r>.<rmd_answer>, "250", "450 550")
where forall <t> in <touch>: <t>.<mfmt_answer> == due(<t>, <t>.<mfmt_answer>, "213 500 501 502 504", "202 450 500 501 502 504 550")
where forall <p> in <permit>: <p>.<chmod_answer> == due(<p>, <p>.<chmod_answer>, "200 202 500 501 502 504", "202 450 500 501 502 504 550")


ALWAYS_THERE = FILES


class Files:
    """The texts of files by their paths, None if not known; the folders, and what is no longer there."""

    def __init__(self, texts=None, folders=None, gone=None):
        self.texts, self.folders, self.gone = texts or {}, folders or {}, gone or {}

    def has(self, path):
        return path in self.texts or path in self.folders

    def has_file(self, path):
        return path in self.texts or path in ALWAYS_THERE

    def stored(self, path, text):
        return Files(self.texts | {path: text}, self.folders, without(self.gone, path))

    def made(self, path):
        return Files(self.texts, self.folders | {path: True}, without(self.gone, path))

    def removed(self, path):
        return Files(without(self.texts, path), without(self.folders, path), self.gone | {path: True})


def without(table, key):
    return {each: table[each] for each in table if each != key}


def follow(files, act):
    """The files after an act."""
    done = act.children[-1]
    if done.symbol == "<transfer>":
        done = done.children[0]
    paths = [str(each) for each in done.find_all_trees("<path>")]
    path = paths[0] if paths else ""
    for text in done.find_all_trees("<text>"):
        return files.stored(path, str(text))
    if done.symbol == "<store_unique>":  # nobody knows where
        return files
    for _ in done.find_all_trees("<part>"):
        return files.stored(path, None)
    for line in done.find_all_trees("<line>"):
        before = "" if path in files.gone else files.texts.get(path)
        return files.stored(path, None if before is None else before + str(line))
    if done.symbol == "<rename>" and path in files.texts:
        return files.stored(paths[1], files.texts[path]).removed(path)
    if done.symbol == "<make>":  # or it was there already
        return files.made(path)
    if done.symbol in ("<delete>", "<remove>") and files.has(path):
        return files.removed(path)
    return files


follow.state = Files()


def files_at(moment):
    """The files when something was said: after all acts that were over."""
    session, here = moment.get_root(), moment.path
    acts = [act for act in session.find_all_trees("<act>") if is_before(session, act, moment)]
    return reduce(follow, [act for act in acts if here[:len(act.path)] != act.path], Files())


def due(act, answer, if_there, if_not):
    """An answer in an act if it has one of the right numbers; else a right one."""
    path = str(act.find_all_trees("<path>")[0])
    files = files_at(act)
    # Where a folder is new to this session, another one may have left it.
    numbers = (if_there if files.has(path) else if_not).split()
    if numbers[0] == "257" and path in files.gone:
        numbers = ["257"]
    if str(answer)[:3] in numbers:
        return str(answer)
    return numbers[0] + ' "' + path + '"\r\n'


def size_due(question):
    """The size that was told, if it can be that. Servers may keep the ends of lines in another form."""
    told = int(question.find_all_trees("<number>")[0])
    text = files_at(question).texts.get(str(question.find_all_trees("<there>")[0]))
    return told if text is None or told in (len(bare(text)), len(text)) else len(text)


def text_due(fetch):
    """The text that was sent, if it is that of the file; else the right one."""
    sent = str(fetch.find_all_trees("<kept>")[0])
    text = files_at(fetch).texts.get(str(fetch.find_all_trees("<there>")[0]))
    return sent if text is None or bare(sent) == bare(text) else text


def bare(text):
    return text.replace("\r", "")


def is_right_list(listing, names):
    """Whether all files of ours are in a list of their folder, and nothing that we have removed."""
    if UPLOAD not in str(listing.children[0]):
        return True
    files = files_at(listing)
    told = [posixpath.basename(str(name)) for name in names.find_all_trees("<name>")]
    are_there = all(path[8:] in told for path in list(files.texts) + list(files.folders))
    return are_there and not any(path[8:] in told for path in files.gone)


def listed_names():
    return "".join(name + "\r\n" for name in names_there())


def listed_facts():
    return "".join("type=file; " + name + "\r\n" for name in names_there())


def names_there():
    return ["notes.txt"] + [path[8:] for path in list(follow.state.texts) + list(follow.state.folders)]


def there():
    return random.choice(list(follow.state.texts) + [random.choice(ALWAYS_THERE)])


def gone(kinds="dfn"):
    return random.choice([path for path in follow.state.gone if path[8] in kinds] + [fresh("n")])


def own_file():
    return random.choice(list(follow.state.texts) + [fresh("f")])


def some_file():
    return random.choice(2 * list(follow.state.texts) + [gone("fn")])


def some_folder():
    return random.choice(2 * list(follow.state.folders) + [gone("dn")])


def new_folder():
    return random.choice(list(follow.state.folders) + [path for path in follow.state.gone if path[8] == "d"] + [fresh("d")])


def fresh(kind):
    return UPLOAD + "/" + kind + "".join(random.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(7))


# --- The parties ------------------------------------------------------------------------------------------------------
#
# That a data connection ends means something once a transfer has begun. Before that it is just no longer needed: then
# the client closes it, as soon as it knows that.

class Client(Client):
    is_new_line = True
    is_waiting = False

    def send(self, message, recipient):
        if message.symbol in ("<retr_gone>", "<abor>"):
            ClientData.instance().stop()
        super().send(message, recipient)
        self.is_waiting = message.symbol == "<auth_tls>"

    def receive(self, message, sender):
        if message and self.is_new_line:
            ClientData.instance().heed_reply(message[:1])
            if self.is_waiting:  # it may be refused
                self.has_asked = message[:1] == b"2"
                self.is_waiting = False
        self.is_new_line = bool(message) and message[-1:] == b"\n"
        super().receive(message, sender)


class Server(Server):
    def send(self, message, recipient):
        if message.symbol == "<opening>":
            ServerData.instance().begin()
        ServerData.instance().settle(str(message)[:1])
        super().send(message, recipient)


class UsedEnd:
    is_used = has_ended = False
    wanted = ""

    def open(self, port, mode=None):
        self.is_used = self.has_ended = False
        self.connection_mode = mode or mode_of(self.side)
        super().open(port)

    def begin(self):
        self.is_used = True
        if self.has_ended:
            super().receive(None, None)

    def receive(self, message, sender):
        if message is not None or self.is_used:
            super().receive(message, sender)
        else:
            self.has_ended = True

    def heed(self, command):
        self.wanted = command if command.startswith(("PROT ", "REIN")) else ""

    def settle(self, digit):
        """What was asked for counts if the answer is a good one. Whoever connects, the client is that of TLS, too."""
        if self.wanted and digit == "2":
            self.tls = {"role": self.side.lower()} if self.wanted == "PROT P\r\n" else None
        self.wanted = ""


class ClientData(UsedEnd, ClientData):
    def heed_reply(self, digit):
        self.settle(digit.decode())
        if digit == b"1":
            self.begin()
        elif digit in (b"4", b"5") and not self.is_used:
            self.stop()


class ServerData(UsedEnd, ServerData):
    pass
