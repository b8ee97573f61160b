# An FTP conversation of the size people write: four parties, about eighty rules. It is only loaded here.

class ClientControl(FandangoParty):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.CONNECT)

class ServerControl(FandangoParty):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)

class ClientData(FandangoParty):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.CONNECT)

class ServerData(FandangoParty):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)

def port_of(reply):
    return int(str(reply).split("|")[3])

<start>            ::= <ServerControl:greeting> <login>
<greeting>         ::= "220 " <text> <crlf>
<login>            ::= <ClientControl:user> <ServerControl:need_password> <password>
<user>             ::= "USER " <username> <crlf>
<username>         ::= "anonymous" | "ftp" | <word>
<need_password>    ::= "331 " <text> <crlf>
<password>         ::= <ClientControl:pass_command> (<ServerControl:logged_in> <session> | <ServerControl:login_failed> <again>)
<pass_command>     ::= "PASS " <secret> <crlf>
<secret>           ::= r"[a-zA-Z0-9@.]{1,12}"
<logged_in>        ::= "230 " <text> <crlf>
<login_failed>     ::= "530 " <text> <crlf>
<again>            ::= <login> | <quit>
<session>          ::= <command> <session> | <quit>
<command>          ::= (<exchange_syst> | <exchange_feat> | <exchange_pwd> | <exchange_cwd> | <exchange_type>
                     | <exchange_noop> | <exchange_opts> | <exchange_mkd> | <exchange_rmd> | <exchange_dele>
                     | <exchange_size> | <exchange_mdtm> | <exchange_help> | <exchange_stat> | <transfer>)
<exchange_syst>    ::= <ClientControl:syst> <ServerControl:syst_reply>
<syst>             ::= "SYST" <crlf>
<syst_reply>       ::= "215 UNIX Type: L8" <crlf>
<exchange_feat>    ::= <ClientControl:feat> <ServerControl:feat_reply>
<feat>             ::= "FEAT" <crlf>
<feat_reply>       ::= "211-" <text> <crlf> <feature>* "211 " <text> <crlf>
<feature>          ::= " " <feature_name> <crlf>
<feature_name>     ::= "EPRT" | "EPSV" | "MDTM" | "PASV" | "SIZE" | "UTF8" | "REST STREAM" | "TVFS"
<exchange_pwd>     ::= <ClientControl:pwd> <ServerControl:pwd_reply>
<pwd>              ::= "PWD" <crlf>
<pwd_reply>        ::= "257 \"" <path> "\"" <rest> <crlf>
<exchange_cwd>     ::= <ClientControl:cwd> (<ServerControl:done> | <ServerControl:failed>)
<cwd>              ::= "CWD " <path> <crlf>
<exchange_type>    ::= <ClientControl:type_command> <ServerControl:type_reply>
<type_command>     ::= "TYPE " <type_code> <crlf>
<type_code>        ::= "A" | "I" | "A N" | "L 8"
<type_reply>       ::= "200 " <text> <crlf>
<exchange_noop>    ::= <ClientControl:noop> <ServerControl:noop_reply>
<noop>             ::= "NOOP" <crlf>
<noop_reply>       ::= "200 " <text> <crlf>
<exchange_opts>    ::= <ClientControl:opts> (<ServerControl:opts_reply> | <ServerControl:failed>)
<opts>             ::= "OPTS UTF8 " <switch> <crlf>
<switch>           ::= "ON" | "OFF"
<opts_reply>       ::= "200 " <text> <crlf>
<exchange_mkd>     ::= <ClientControl:mkd> (<ServerControl:mkd_reply> | <ServerControl:failed>)
<mkd>              ::= "MKD " <path> <crlf>
<mkd_reply>        ::= "257 \"" <path> "\"" <rest> <crlf>
<exchange_rmd>     ::= <ClientControl:rmd> (<ServerControl:done> | <ServerControl:failed>)
<rmd>              ::= "RMD " <path> <crlf>
<exchange_dele>    ::= <ClientControl:dele> (<ServerControl:done> | <ServerControl:failed>)
<dele>             ::= "DELE " <path> <crlf>
<exchange_size>    ::= <ClientControl:size> (<ServerControl:size_reply> | <ServerControl:failed>)
<size>             ::= "SIZE " <path> <crlf>
<size_reply>       ::= "213 " <number> <crlf>
<exchange_mdtm>    ::= <ClientControl:mdtm> (<ServerControl:mdtm_reply> | <ServerControl:failed>)
<mdtm>             ::= "MDTM " <path> <crlf>
<mdtm_reply>       ::= "213 " r"[0-9]{14}" <crlf>
<exchange_help>    ::= <ClientControl:help> <ServerControl:help_reply>
<help>             ::= "HELP" <crlf>
<help_reply>       ::= "214-" <text> <crlf> <help_line>* "214 " <text> <crlf>
<help_line>        ::= " " <text> <crlf>
<exchange_stat>    ::= <ClientControl:stat> <ServerControl:stat_reply>
<stat>             ::= "STAT" <crlf>
<stat_reply>       ::= "211-" <text> <crlf> <stat_line>* "211 " <text> <crlf>
<stat_line>        ::= " " <text> <crlf>
<transfer>         ::= <ClientControl:epsv> <ServerControl:epsv_reply> (<listing> | <download> | <upload>)
<epsv>             ::= "EPSV" <crlf>
<epsv_reply>       ::= "229 " <phrase> " (|||" <port> "|)" <crlf>
<port>             ::= r"[1-9][0-9]{3,4}"
<listing>          ::= <ClientControl:list> <ServerControl:opening> <ServerData:entries> <ServerControl:closing>
<list>             ::= "LIST" (" " <path>)? <crlf>
<entries>          ::= <entry>*
<entry>            ::= <mode> " " <number> " " <word> " " <word> " " <number> " " <date> " " <file> <crlf>
<mode>             ::= r"[-d][-r][-w][-x][-r][-w][-x][-r][-w][-x]"
<date>             ::= <month> " " r"[0-3][0-9]" " " r"[0-2][0-9]:[0-5][0-9]"
<month>            ::= "Jan" | "Feb" | "Mar" | "Apr" | "May" | "Jun" | "Jul" | "Aug" | "Sep" | "Oct" | "Nov" | "Dec"
<download>         ::= <ClientControl:retr> <ServerControl:opening> <ServerData:content> <ServerControl:closing>
<retr>             ::= "RETR " <file> <crlf>
<upload>           ::= <ClientControl:stor> <ServerControl:opening> <ClientData:content> <ServerControl:closing>
<stor>             ::= "STOR " <file> <crlf>
<content>          ::= r"[ -~\r\n]{0,200}"
<opening>          ::= "150 " <text> <crlf>
<closing>          ::= "226 " <text> <crlf>
<done>             ::= "250 " <text> <crlf>
<failed>           ::= "550 " <text> <crlf>
<quit>             ::= <ClientControl:quit_command> <ServerControl:goodbye>
<quit_command>     ::= "QUIT" <crlf>
<goodbye>          ::= "221 " <text> <crlf>
<path>             ::= "/" | ("/" <file>)+
<file>             ::= r"[a-z][a-z0-9_]{0,7}" ("." r"[a-z]{1,3}")?
<word>             ::= r"[a-z]{1,8}"
<number>           ::= r"[0-9]{1,6}"
<phrase>           ::= r"[A-Za-z ]+"
<text>             ::= r"[^\r\n]*"
<rest>             ::= r"[^\r\n]*"
<crlf>             ::= "\r\n"

where all(1024 <= port_of(<reply>) <= 65535 for <reply> in *<epsv_reply>)
where forall <x> in <exchange_mkd>: str(<x>..<mkd>.<path>) != ""
