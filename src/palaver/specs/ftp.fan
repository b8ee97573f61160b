# FTP (RFC 959 and 2428): login, questions, passive mode, and files over a second connection.
#
#   palaver talk ftp --client 2121        test the server at port 2121
#   palaver talk ftp --server 2121        test the clients that come to port 2121
#
# The server under test has an account, and folders and files that it may look at; `palaver specs ftp --fixture DIR`
# makes them.


# --- Parameters -------------------------------------------------------------------------------------------------------
#
# `--set user=joe` sets one, `--set folders=/,/pub` a list. What a rule gets from them stands above it.

USER = "the_user"  # [parameter] the account that logs in
PASSWORD = "the_password"  # [parameter] its password
FOLDERS = ["/", "/docs", "/empty"]  # [parameter] folders that the user can visit
FILES = ["/readme.txt", "/docs/notes.txt"]  # [parameter] files of text that the user can read
UPLOAD = "/upload"  # [parameter] the folder that the user can write to


# --- Who talks to whom ------------------------------------------------------------------------------------------------
#
# Commands and replies go over one connection, between Client and Server. Folders and files go over another one, between
# ClientData and ServerData, which is opened anew for each of them. Two connections are never in step: the reply that
# all is complete can overtake the last of the data. So there are two parties that exist in this file only, ClientClose
# and ServerClose. What one of them says to the other is that it closes the data connection.


# --- States -----------------------------------------------------------------------------------------------------------
#
# One rule is one state. In each of them, some things can happen any number of times. Each alternative after that is
# something that leads on, with the state that comes next.

<start>          ::= <Server:Client:greeting> <logged_out>

<logged_out>     ::= (<failed_login> | <refusal>)* (<login> <logged_in> | <goodbye>)

<logged_in>      ::= <question>* (<set_binary> <binary> | <open_data> <passive> | <goodbye>)

<binary>         ::= <question>* (<set_ascii> <logged_in> | <open_data> <binary_passive> | <goodbye>)

# The data connection is open. One transfer uses it up, and until then nothing else can be done with it.
<passive>        ::= <question>* (<set_binary> <binary_passive> | <transfer> <logged_in>)

<binary_passive> ::= <question>* (<set_ascii> <passive> | <transfer> <binary>)


# --- Login ------------------------------------------------------------------------------------------------------------
#
# When the right name has been given, nobody can tell yet whether this becomes a login or a failed one. Both are kept in
# mind until the password decides.

<login>          ::= <Client:Server:user> <Server:Client:send_password> <Client:Server:password> <Server:Client:welcome>
<failed_login>   ::= (
    <Client:Server:user> <Server:Client:send_password> <Client:Server:wrong_password> <Server:Client:denied> |
    <Client:Server:wrong_user> <Server:Client:send_password> <Client:Server:password> <Server:Client:denied>
)

# [set by USER]
<user>           ::= "USER the_user\r\n"
<wrong_user>     ::= "USER " <word> "\r\n"
# [set by PASSWORD]
<password>       ::= "PASS the_password\r\n"
<wrong_password> ::= "PASS " <word> "\r\n"
<send_password>  ::= r"(331-[\t -~]*\r\n((331-|[\t -/:-~])[\t -~]*\r\n)*)?331 " <rest>
<welcome>        ::= r"(230-[\t -~]*\r\n((230-|[\t -/:-~])[\t -~]*\r\n)*)?230 " <rest>
<denied>         ::= r"(530-[\t -~]*\r\n((530-|[\t -/:-~])[\t -~]*\r\n)*)?530 " <rest>

# They think long about a wrong password, on purpose.
MESSAGE_DEADLINES = {"<denied>": 40}

# Servers hang up on those who fail too often, mostly at the third time. It never comes to that here.
where len(*<wrong_user>) + len(*<wrong_password>) <= 2

# Whoever is not logged in learns nothing.
<refusal>        ::= <Client:Server:pwd> <Server:Client:denied>


# --- Questions --------------------------------------------------------------------------------------------------------

<question>       ::= <ask_system> | <ask_features> | <visit> | <set_option>

<ask_system>     ::= <Client:Server:syst> <Server:Client:system>
<syst>           ::= "SYST\r\n"
<system>         ::= r"(215-[\t -~]*\r\n((215-|[\t -/:-~])[\t -~]*\r\n)*)?215 " <rest>

# Only the last line of a reply has a blank after the number.
<ask_features>   ::= <Client:Server:feat> (<Server:Client:features> | <Server:Client:no_features>)
<feat>           ::= "FEAT\r\n"
<features>       ::= "211-" <rest> (" " <rest>)+ "211 " <rest>

# [note] RFC 2389 (3.2): the server has no features, or does not know the question
<no_features>    ::= r"(211|50[02]) " <rest>

# Whoever goes somewhere must be there afterwards.
<visit>          ::= <Client:Server:cwd> <Server:Client:changed> <Client:Server:pwd> <Server:Client:here>
<cwd>            ::= "CWD " <folder> "\r\n"
# [set by FOLDERS]
<folder>         ::= "/" | "/docs" | "/empty"
<changed>        ::= r"(250-[\t -~]*\r\n((250-|[\t -/:-~])[\t -~]*\r\n)*)?250 " <rest>
<pwd>            ::= "PWD\r\n"
<here>           ::= "257 \"" <folder> "\"" <rest>
where forall <v> in <visit>: <v>.<cwd>.<folder> == <v>.<here>.<folder>

<set_option>     ::= <Client:Server:opts> (<Server:Client:done> | <Server:Client:unknown_option>)
<opts>           ::= "OPTS UTF8 ON\r\n"
<done>           ::= r"(200-[\t -~]*\r\n((200-|[\t -/:-~])[\t -~]*\r\n)*)?200 " <rest>

# [note] RFC 2389 (4): the server does not know the option, or has no options
<unknown_option> ::= r"(202|451|50[0-4]) " <rest>

<set_ascii>      ::= <Client:Server:type_ascii> <Server:Client:done>
<type_ascii>     ::= "TYPE A\r\n"

<set_binary>     ::= <Client:Server:type_binary> <Server:Client:done>
<type_binary>    ::= "TYPE I\r\n"

<goodbye>        ::= <Client:Server:quit> <Server:Client:bye>
<quit>           ::= "QUIT\r\n"
<bye>            ::= r"(221-[\t -~]*\r\n((221-|[\t -/:-~])[\t -~]*\r\n)*)?221 " <rest>

<greeting>       ::= r"(220-[\t -~]*\r\n((220-|[\t -/:-~])[\t -~]*\r\n)*)?220 " <rest>

# A reply may have several lines (RFC 959, 4.2): the first has a hyphen behind the number, the last a blank. The lines
# between them begin with the number again, or with anything that is no digit.
<rest>           ::= r"[\t -~]*" "\r\n"
# [set by USER, PASSWORD]
<word>           ::= r"(?!(the_user|the_password)\Z)[a-z0-9]{1,12}"


# --- The data connection ----------------------------------------------------------------------------------------------
#
# The server tells the port where it waits: in the one form as a number, in the other as its two bytes.

<open_data>      ::= <extended> | <classic>

<extended>       ::= <Client:Server:epsv> <Server:Client:epsv_port>
<epsv>           ::= "EPSV\r\n"
<epsv_port>      ::= "229 " r"[ -'*-/:-~]*" "(|||" <port> "|)" <rest>

<classic>        ::= <Client:Server:pasv> <Server:Client:pasv_port>
<pasv>           ::= "PASV\r\n"
# Clients look for the first digit behind the number (RFC 1123, 4.1.2.6).
<pasv_port>      ::= "227 " r"[ -'*-/:-~]*" "(127,0,0,1," <port_bytes> ")" <rest>

# Whoever learns the port sets up the data connection: the server when it makes the number, the client when it reads it.
# <chosen_port> is what <port> is computed from. It is in no message; when a <port> is read, it is computed from that.
<port>           ::= <number> := set_up(int(<chosen_port>))
<chosen_port>    ::= <number> := set_up(int(<port>))
<port_bytes>     ::= <number> "," <number> := to_bytes(set_up(int(<chosen_bytes>)))
<chosen_bytes>   ::= <number> := set_up(from_bytes(str(<port_bytes>)))
<number>         ::= r"[0-9]{1,5}"


def to_bytes(port):
    return f"{port // 256},{port % 256}"


def from_bytes(text):
    high, low = text.split(",")
    return int(high) * 256 + int(low)


def set_up(port):
    if ClientData.instance().is_fuzzer_controlled():
        ClientData.instance().open(port)
    else:
        port = free_port(port)
        ServerData.instance().open(port)
    return port


# Whatever was chosen: somebody may be there. If nothing is sent, nobody is disturbed, and a seed gives the same bytes.
def free_port(chosen):
    if not getattr(Client.instance(), "is_in_session", True):
        return max(chosen % 65536, 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


# --- Transfers --------------------------------------------------------------------------------------------------------
#
# A transfer is over when the data connection is closed and the server has said so, in any order.

<transfer>       ::= <list> | <download> | <upload>

<list>           ::= <Client:Server:list_folder> <Server:Client:opening> <ServerData:ClientData:listing>? (
    <ServerClose:ClientClose:closed> <Server:Client:complete> |
    <Server:Client:complete> <ServerData:ClientData:listing>? <ServerClose:ClientClose:closed>
)
<list_folder>    ::= "LIST\r\n"
<listing>        ::= <entry>+
<entry>          ::= ("-" | "d") r"[rwxsStT-]{9}" <rest>

<download>       ::= <Client:Server:retr> <Server:Client:opening> <ServerData:ClientData:content>? (
    <ServerClose:ClientClose:closed> <Server:Client:complete> |
    <Server:Client:complete> <ServerData:ClientData:content>? <ServerClose:ClientClose:closed>
)
<retr>           ::= "RETR " <file> "\r\n"
# [set by FILES]
<file>           ::= "/readme.txt" | "/docs/notes.txt"
<content>        ::= r"[ -~\r\n]+"

# Here it is the client that closes.
<upload>         ::= (
    <Client:Server:stor> <Server:Client:opening>
    <ClientData:ServerData:content> <ClientClose:ServerClose:closed> <Server:Client:complete>
)
# [set by UPLOAD]
<stor>           ::= "STOR /upload/" r"[a-z]" "\r\n"

<opening>        ::= (
    r"(150-[\t -~]*\r\n((150-|[\t -/:-~])[\t -~]*\r\n)*)?150 |(125-[\t -~]*\r\n((125-|[\t -/:-~])[\t -~]*\r\n)*)?125 " <rest>
)
<complete>       ::= r"(226-[\t -~]*\r\n((226-|[\t -/:-~])[\t -~]*\r\n)*)?226 " <rest>
<closed>         ::= "closed"


# --- The parties ------------------------------------------------------------------------------------------------------
#
# The command line tells whether the client or the server is played here, and where the other one is. Without that it is
# the client, and the server is at this port. All other parties are played by whoever plays one of these two.

PORT = 2121


class Client(NetworkParty):
    def __init__(self):
        super().__init__(f"tcp://127.0.0.1:{PORT}", connection_mode=ConnectionMode.CONNECT)
        self.start()

    def receive(self, message, sender):
        super().receive(message, "Server")


class Server(NetworkParty):
    def __init__(self):
        super().__init__(f"tcp://127.0.0.1:{PORT}", connection_mode=ConnectionMode.EXTERNAL)

    def receive(self, message, sender):
        super().receive(message, "Client")


class DataEnd(NetworkParty):
    """One end of the data connection. That the other end closes it is what the other Close party says."""

    def __init__(self, side, other):
        super().__init__("tcp://127.0.0.1:20", connection_mode=mode_of(side))
        self.side, self.other = side, other

    def open(self, port):
        self.stop()
        self.port = port
        self.start()

    def receive(self, message, sender):
        if message is None:  # some servers wait until both ends are closed before they say that all is complete
            self.io_instance.parties[self.side + "Close"].receive("closed", self.other + "Close")
            self.stop()
        else:
            super().receive(message, self.other + "Data")


class CloseEnd(FandangoParty):
    """Closes this end of the data connection by saying so."""

    def __init__(self, side):
        super().__init__(connection_mode=mode_of(side))
        self.side = side

    def send(self, message, recipient):
        self.io_instance.parties[self.side + "Data"].stop()

    def stop(self):
        pass


def mode_of(side):
    leader = FandangoIO.instance().parties.get(side)
    if leader is not None:
        return leader.connection_mode
    # It is still to be made, which happens only if nothing else was said on the command line.
    return ConnectionMode.CONNECT if side == "Client" else ConnectionMode.EXTERNAL


class ClientData(DataEnd):
    def __init__(self):
        super().__init__("Client", "Server")


class ServerData(DataEnd):
    def __init__(self):
        super().__init__("Server", "Client")


class ClientClose(CloseEnd):
    def __init__(self):
        super().__init__("Client")


class ServerClose(CloseEnd):
    def __init__(self):
        super().__init__("Server")


# --- What is no part of the session -----------------------------------------------------------------------------------

# For `palaver talk --beyond`; the first of these that fits decides. Whatever RFC 959 (4.1), 2228, 2389, 2428, 2640, 3659
# and 7151 let be sent is allowed, in any order. So is what is not printable ASCII: commands are read as Telnet does
# (RFC 959, 5.3), which may take it for nothing. The rest must be refused (5.4), and changes nothing.
<beyond>         ::= <allowed> | <unasked> | <misspelt>
<allowed>        ::= <Client:Server:any_command> | <Client:Server:any_odd>
<unasked>        ::= <Client:Server:any_pass> <Server:Client:superfluous> <Server:Client:hung_up>?
<misspelt>       ::= <Client:Server:any_line> (<Server:Client:not_a_command> <Server:Client:hung_up>? | <Server:Client:hung_up>)
<any_command>    ::= r"(?i:(USER|ACCT|CWD|XCWD|SMNT|PORT|EPRT|TYPE|STRU|MODE|RETR|STOR|APPE|ALLO|REST|RNFR|RNTO|DELE|RMD|XRMD|MKD|XMKD|SITE|OPTS|SIZE|MDTM|MFMT|MFCT|MFF|AUTH|ADAT|PBSZ|PROT|LANG|HOST|CLNT|LPRT|AVBL|HASH|ESTA|ESTP|MAIL|MLFL|MRSQ|MRCP|MSAM|MSND|MSOM) +[ -~]+|(LIST|NLST|STAT|HELP|EPSV|STOU|MLSD|MLST|ALLO|NOOP|CDUP|XCUP|REIN|QUIT|PASV|LPSV|SYST|ABOR|PWD|XPWD|FEAT|CCC|MIC|CONF|ENC|CSID|THMB|COMB|RANG)( [ -~]*)?)[ ]*" "\r\n"
<any_odd>        ::= r"[^\r\n]*[^ -~\r\n][^\r\n]*" "\r\n"
<any_pass>       ::= r"(?i:PASS)( [ -~]*)?" "\r\n"
<any_line>       ::= r"[^\r\n]*" "\r\n"
<superfluous>    ::= r"([2-5][0-9]{2}-[^\r\n]*\r\n([^\r\n]*\r\n)*)?(202|230|332|421|5[0-9]{2})( [^\r\n]*)?" "\r\n"
<not_a_command>  ::= r"([45][0-9]{2}-[^\r\n]*\r\n([^\r\n]*\r\n)*)?[45][0-9]{2}( [^\r\n]*)?" "\r\n"
<hung_up>        ::= ""
