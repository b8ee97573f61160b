# A mail drop, as a protocol: the client hands in letters, the server answers.
#
# <Client:hello> is a message that the client sends. The rules above the messages say who sends what when; a session is
# one derivation of <start>. Constraints may span messages. `palaver fuzz -f mail.fan --party Client` makes one side only.

<start>    ::= <Server:greeting> <Client:hello> <Server:welcome> <letters> <Client:quit> <Server:bye>
<letters>  ::= <letter> | <letter> <letters>
<letter>   ::= <Client:from> <Server:ok> <Client:body> <Server:taken>

<greeting> ::= "220 " <name> ".example\r\n"
<hello>    ::= "HELO " <name> "\r\n"
<welcome>  ::= "250 hello " <name> "\r\n"
<from>     ::= "FROM " <name> "\r\n"
<ok>       ::= "250 ok\r\n"
<body>     ::= <size> " " <text> "\r\n"
<taken>    ::= "250 " <size> " bytes taken\r\n"
<quit>     ::= "QUIT\r\n"
<bye>      ::= "221 bye\r\n"

<name>     ::= r"[a-z]{1,8}"
<size>     ::= r"[0-9]+"
<text>     ::= r"[A-Za-z ,.]{1,30}"

# The server greets the client by the name it gave.
where <welcome>.<name> == <hello>.<name>
# Each letter has the size it claims, and the server confirms that size.
where forall <l> in <letter>: int(<l>.<body>.<size>) == len(str(<l>.<body>.<text>))
where forall <l> in <letter>: <l>.<taken>.<size> == <l>.<body>.<size>


class Client(NetworkParty):
    """The side that palaver plays."""

    def __init__(self):
        super().__init__("tcp://localhost:8025", connection_mode=ConnectionMode.CONNECT)
        self.start()


class Server(NetworkParty):
    """The system under test."""

    def __init__(self):
        super().__init__("tcp://localhost:8025", connection_mode=ConnectionMode.EXTERNAL)
