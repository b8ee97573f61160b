# A web service over HTTP with JSON: an API of quotes that can be listed, added, looked up and removed.
#
# A request is written as a line with its method and path, and a line with its body; an answer as a line with its status
# and type, and a line with its body. The class below makes HTTP of that. The service is looked for where --client says,
# or else $QUOTES_API, or else 127.0.0.1:8000.

<start>    ::= <exchange>+
<exchange> ::= <listing> | <mistake> | <visit>

# Ask for some quotes, and get as many, all different.
<listing>  ::= <Client:Server:list> <Server:Client:quotes>
<list>     ::= "GET /quotes?limit=" <limit> "\n\n"
<limit>    ::= r"[1-9]|10"
<quotes>   ::= "200" <json> '{"quotes"' <colon> "[" <quote> (<comma> <quote>)* "]}\n"

where forall <l> in <listing>: len(*<l>.<quotes>.<quote>) == int(<l>.<list>.<limit>)
where forall <l> in <listing>: len(set(map(str, *<l>.<quotes>.<quote>.<id>))) == int(<l>.<list>.<limit>)

# What is wrong is refused, and what does not exist is not found.
<mistake>  ::= <refusal> | <stray>
<refusal>  ::= (<Client:Server:bad_list> | <Client:Server:bad_add>) <Server:Client:refused>
<stray>    ::= <Client:Server:nowhere> <Server:Client:missing>
<bad_list> ::= "GET /quotes" ("?limit=" <no_limit>)? "\n\n"
<no_limit> ::= "0" | "-1" | "11" | "ten" | ""
<bad_add>  ::= "POST /quotes\n" <no_quote> "\n"
<no_quote> ::= "" | "quote" | "{}" | '{"text": 1}' | '{"text": ""}'
<nowhere>  ::= "GET /" r"[a-z]{1,4}" "\n\n"
<refused>  ::= "400" <json> <error> "\n"
<missing>  ::= "404" <json> <error> "\n"
<error>    ::= '{"error"' <colon> <string> "}"

# Add a quote: it is counted, found as it was given whenever one looks, and gone when it was removed.
<visit>    ::= <before> <adding> <after> <looking>* <removing> <looking_in_vain>
<before>   ::= <counting>
<after>    ::= <counting>
<counting> ::= <Client:Server:count> <Server:Client:counted>
<count>    ::= "GET /count\n\n"
<counted>  ::= "200" <json> '{"count"' <colon> <number> "}\n"
<adding>   ::= <Client:Server:add> <Server:Client:added>
<add>      ::= 'POST /quotes\n{"text": ' <string> "}\n"
<added>    ::= "201" <json> <quote> "\n"
<looking>  ::= <Client:Server:look> <Server:Client:found>
<look>     ::= "GET /quotes/" <id> "\n\n"
<found>    ::= "200" <json> <quote> "\n"
<removing> ::= <Client:Server:remove> <Server:Client:removed>
<remove>   ::= "DELETE /quotes/" <id> "\n\n"
<removed>  ::= "204 nothing\n\n"
<looking_in_vain> ::= <Client:Server:look> <Server:Client:missing>

where forall <v> in <visit>: int(<v>.<after>..<number>) == int(<v>.<before>..<number>) + 1
where forall <v> in <visit>: forall <i> in <v>..<id>: <i> == <v>.<adding>.<added>.<quote>.<id>
where forall <v> in <visit>: forall <q> in <v>..<quote>: <q>.<string> == <v>.<adding>.<add>.<string>

# JSON, as far as it is needed.
<quote>    ::= '{"id"' <colon> <id> <comma> '"text"' <colon> <string> "}"
<id>       ::= <number>
<number>   ::= r"[1-9][0-9]*"
<string>   ::= '"' r'([ !#-\[\]-~]|\\["\\])+' '"'
<colon>    ::= r":[ ]?"
<comma>    ::= r",[ ]?"
<json>     ::= r" application/json(; ?charset=utf-8)?\n"


import http.client
import os


class Client(NetworkParty):
    """Makes the requests. Each has a connection of its own, so there is nothing to start."""

    def __init__(self):
        super().__init__(os.environ.get("QUOTES_API", "127.0.0.1:8000"), connection_mode=ConnectionMode.CONNECT)

    def start(self):
        pass

    def send(self, message, recipient):
        head, body, _ = str(message).split("\n")
        connection = http.client.HTTPConnection(self.ip, self.port, timeout=5)
        try:
            connection.request(*head.split(" "), body)
            answer = connection.getresponse()
            kind = answer.getheader("Content-Type", "nothing")
            head = "%d %s\n" % (answer.status, kind)
            self.receive(head.encode() + answer.read() + b"\n", "Server")
        except http.client.HTTPException as error:
            self.receive("no HTTP: " + repr(error), "Server")
        finally:
            connection.close()


class Server(FandangoParty):
    """Answers them."""

    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)

    def stop(self):
        pass
