# FTP for testing existing clients: curl, lftp, ftplib and others that log in, list folders, and get or put files.
#
#   palaver talk ftp_clients --server {port} --target 'curl -u the_user:the_password ftp://127.0.0.1:{port}/docs/'
#
# The client comes with the account of ftp.fan, or with a wrong one, and must use passive mode. Now and then the
# server says no, wherever it may: the client has to take it as RFC 959 says.
#
# All of ftp.fan, with these rules in place of its own. What was one way of writing becomes all that clients use.

include('ftp.fan')

import posixpath


# --- States -----------------------------------------------------------------------------------------------------------

<start>          ::= <Server:Client:greeting> <logged_out>

<logged_out>     ::= (<question_of_guest> | <failed_login>)* (<login> <logged_in> | <leave>)

<logged_in>      ::= <question>* (<open_data> <passive> | <leave>)

# The data connection is open. A transfer uses it up, and so does another one that is asked for.
<passive>        ::= <question>* (<open_data> <passive> | <transfer> <logged_in> | <leave>)

# RFC 959 (4.1.1): whoever hangs up is logged out. Nobody has to say good bye.
<leave>          ::= <goodbye> | <ClientClose:ServerClose:hung_up>
<hung_up>        ::= "hung up"


# --- Login ------------------------------------------------------------------------------------------------------------
#
# Some servers tell at once that they do not know somebody, and others ask for a password all the same. As in
# ftp.fan, nobody guesses more than twice.

<failed_login>   ::= (
    <Client:Server:user> <Server:Client:send_password> <Client:Server:wrong_password> <Server:Client:denied> |
    <Client:Server:wrong_user> <Server:Client:denied> |
    <Client:Server:wrong_user> <Server:Client:send_password> <Client:Server:any_password> <Server:Client:denied>
)

# RFC 959 (5.3): commands are not case sensitive.
# [set by USER]
<user>           ::= r"(?ai:USER) the_user" "\r\n"
# [set by USER]
<wrong_user>     ::= r"(?ai:USER) (?!the_user$)[ -~]+" "\r\n"
# [set by PASSWORD]
<password>       ::= r"(?ai:PASS) the_password" "\r\n"
# [set by PASSWORD]
<wrong_password> ::= r"(?ai:PASS)( (?!the_password$)[ -~]*)?" "\r\n"
<any_password>   ::= r"(?ai:PASS)( [ -~]*)?" "\r\n"

# Whoever is not logged in learns what the server can do, but not where it is. Some clients ask anyway.
<question_of_guest> ::= <refusal> | <ask_features> | <ask_system> | <set_option> | <pause>


# --- Questions --------------------------------------------------------------------------------------------------------

<question>       ::= (
    <ask_features> | <ask_system> | <set_option> | <pause> | <set_type> | <restart> | <special> |
    <ask_where> | <went> | <not_gone> | <ask_size> | <ask_time> | <not_extended>
)

<ask_features>   ::= <Client:Server:feat> (<Server:Client:features> | <Server:Client:unknown>)
<feat>           ::= r"(?ai:FEAT)" "\r\n"
<features>       ::= "211-" <rest> (" " <feature> "\r\n")+ "211 " <rest>
<feature>        ::= "EPSV" | "PASV" | "MDTM" | "SIZE" | "UTF8"

<ask_system>     ::= <Client:Server:syst> (<Server:Client:system> | <Server:Client:unknown>)
<syst>           ::= r"(?ai:SYST)" "\r\n"
<system>         ::= "215 UNIX Type: L8\r\n"

<set_option>     ::= <Client:Server:opts> (<Server:Client:done> | <Server:Client:unknown>)
<opts>           ::= r"(?ai:OPTS UTF-?8 ON)" "\r\n"

<pause>          ::= <Client:Server:noop> <Server:Client:done>
<noop>           ::= r"(?ai:NOOP)" "\r\n"

<set_type>       ::= <Client:Server:type_command> <Server:Client:done>
<type_command>   ::= r"(?ai:TYPE (A|I|A N))" "\r\n"

# [note] RFC 959 (5.3.1): the client goes to a folder, and does not say which
<cwd_nowhere>    ::= r"(?ai:CWD)" "\r\n"

# Only from the beginning: what comes after that is the whole file.
<restart>        ::= (
    <Client:Server:rest_at> (<Server:Client:ready> | <Server:Client:unknown>) |
    <Client:Server:rest_further> <Server:Client:unknown>
)
<rest_further>   ::= r"(?ai:REST) [1-9][0-9]*" "\r\n"
<rest_at>        ::= r"(?ai:REST) 0" "\r\n"
<ready>          ::= "350 " <rest>

# What this server does not have (RFC 959, 5.4): clients ask for it, and must do without.
<special>        ::= (<Client:Server:other> | <Client:Server:cwd_nowhere>) <Server:Client:unknown>
<other>          ::= r"(?ai:ACCT|ALLO|AUTH|CLNT|CSID|HELP|HOST|LANG|MFMT|MLSD|MLST|OPTS MLST|SITE|STAT)( [ -~]*)?" "\r\n"

<ask_where>      ::= <Client:Server:pwd> (<Server:Client:here> | <Server:Client:missing>)
<pwd>            ::= r"(?ai:X?PWD)" "\r\n"
<here>           ::= "257 \"" <folder> "\"" r"( [ !#-~]*)?" "\r\n"

<went>           ::= (<Client:Server:cwd> | <Client:Server:cdup>) <Server:Client:changed>
<not_gone>       ::= (<Client:Server:cwd> | <Client:Server:cdup>) <Server:Client:missing>
<cwd>            ::= r"(?ai:CWD) " <folder> "\r\n"
<cdup>           ::= r"(?ai:CDUP)" "\r\n"

<ask_size>       ::= <Client:Server:size> (<Server:Client:size_told> | <no_such_thing>)
<size>           ::= r"(?ai:SIZE) " <path> "\r\n"
<size_told>      ::= "213 " <number> "\r\n"

<ask_time>       ::= <Client:Server:mdtm> (<Server:Client:time_told> | <no_such_thing>)
<mdtm>           ::= r"(?ai:MDTM) " <path> "\r\n"
<time_told>      ::= r"213 20[0-2][0-9](0[1-9]|1[0-2])(0[1-9]|1[0-9]|2[0-8])([01][0-9]|2[0-3])([0-5][0-9]){2}" "\r\n"

<quit>           ::= r"(?ai:QUIT)" "\r\n"

# The file is missing, or the server has no such command.
<no_such_thing>  ::= <Server:Client:missing> | <Server:Client:unknown>
<unknown>        ::= r"50[02] " <rest>
<missing>        ::= "550 " <rest>

# RFC 959 (4.2): a reply may have several lines; only the last has a blank after the number.
<greeting>       ::= ("220-" <rest>)? "220 " <rest>
<welcome>        ::= ("230-" <rest>)? "230 " <rest>

<folder>         ::= r"[!#-~]([ !#-~]*[!#-~])?"
<path>           ::= r"[!#-~]([ !#-~]*[!#-~])?"


# --- Transfers --------------------------------------------------------------------------------------------------------

# RFC 1123 (4.1.2.6): every server has the classic form. The other one may be unknown to it, and then there is no port.
<not_extended>   ::= <Client:Server:epsv> <Server:Client:unknown>
<epsv>           ::= r"(?ai:EPSV( 1)?)" "\r\n"
<pasv>           ::= r"(?ai:PASV)" "\r\n"

<list>           ::= <Client:Server:list_folder> (<Server:Client:refused> | <Server:Client:opening> <sent_listing>)
<sent_listing>   ::= <ServerData:ClientData:listing> <end_of_sent>
<list_folder>    ::= r"(?ai:LIST)( [ -~]+)?" "\r\n"
<entry>          ::= <rights> r"  [1-9] owner group  [1-9][0-9]{0,8} (Jan|Jul) [12][0-9]  20[0-2][0-9] " <name> "\r\n"
<rights>         ::= r"[d-]rw[x-]r-[x-]r-[x-]"

<names>          ::= <Client:Server:nlst> (<Server:Client:refused> | <Server:Client:opening> <sent_names>)
<sent_names>     ::= <ServerData:ClientData:name_list> <end_of_sent>
<nlst>           ::= r"(?ai:NLST)( [ -~]+)?" "\r\n"
<name_list>      ::= (<name> "\r\n")+
<name>           ::= r"[a-z]{1,8}(\.[a-z]{1,3})?"

<download>       ::= <Client:Server:retr> (<Server:Client:refused> | <Server:Client:opening> <sent_file>)
<sent_file>      ::= <ServerData:ClientData:content> <end_of_sent>
<retr>           ::= r"(?ai:RETR) " <path> "\r\n"

<upload>         ::= <Client:Server:stor> (<Server:Client:refused> | <Server:Client:send_it> <got_file>)
<got_file>       ::= <ClientData:ServerData:content>* <ClientClose:ServerClose:closed> <outcome>
<stor>           ::= r"(?ai:STOR|APPE) " <path> "\r\n"

<transfer>       ::= <list> | <names> | <download> | <upload>
<end_of_sent>    ::= (
    <ServerClose:ClientClose:closed> <outcome> | <Server:Client:complete> <ServerClose:ClientClose:closed>
)
<outcome>        ::= <Server:Client:complete> | <Server:Client:failed>
<send_it>        ::= r"1(25|50) " <rest>
<refused>        ::= r"(450|550) " <rest>
<failed>         ::= "451 " <rest>


# --- What must hold ---------------------------------------------------------------------------------------------------

# Whoever goes somewhere is there afterwards.
where forall <h> in <here>: str(<h>.<folder>) == folder_at(<h>)

# A file is as large as was told: the longer its name, the larger.
where forall <a> in <ask_size>: int(<a>.<size_told>.<number>) == size_of(<a>.<size>.<path>)
where forall <d> in <download>: len(str(<d>.<sent_file>.<content>)) == size_of(<d>.<retr>.<path>)


def folder_at(moment):
    session = moment.get_root()
    folder = "/"
    for went in session.find_all_trees("<went>"):
        if is_before(session, went, moment):
            paths = went.find_all_trees("<folder>")
            folder = posixpath.normpath(posixpath.join(folder, str(paths[0]) if paths else ".."))
    return folder


def size_of(path):
    return 10 * len(posixpath.basename(str(path)))


# --- The parties ------------------------------------------------------------------------------------------------------
#
# That a data connection is closed means something only if that ends the data. Otherwise it just is no longer needed.

class Client(Client):
    def send(self, message, recipient):
        ClientData.instance().is_used = message.symbol in ("<list_folder>", "<nlst>", "<retr>")
        super().send(message, recipient)


class Server(Server):
    def send(self, message, recipient):
        ServerData.instance().is_used = message.symbol == "<send_it>"
        super().send(message, recipient)

    def receive(self, message, sender):
        said = TELNET.sub(b"", message or b"")
        if message is None:
            ServerClose.instance().receive("hung up", "ClientClose")
        elif said:
            super().receive(said, sender)


# RFC 959 (4.1.3): who wants to interrupt the server says so by signals of Telnet. There is nothing to be interrupted.
TELNET = re.compile(rb"\xff[\xf2\xf4]?")


class UsedEnd:
    is_used = False

    def receive(self, message, sender):
        if message is not None or self.is_used:
            super().receive(message, sender)


class ClientData(UsedEnd, ClientData):
    pass


class ServerData(UsedEnd, ServerData):
    pass


class ClientClose(ClientClose):
    def send(self, message, recipient):
        if message.symbol == "<hung_up>":
            Client.instance().stop()
        else:
            super().send(message, recipient)
