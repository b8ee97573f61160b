# A web service over HTTP with JSON: an API of quotes that can be listed, added, looked up and removed.
#
#   palaver talk rest --client 8000        test the service at port 8000
#   palaver talk rest --server 8000        be the service, and test the clients that come to port 8000
#
# A request is written as a line with its method and path, and a line with its body; an answer as a line with its status
# and type, and a line with its body. The classes below make HTTP of that. Without --client and --server, the service is
# looked for where $QUOTES_API says, or else at 127.0.0.1:8000.

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
import re
import time

# So much of a body is read, in bytes, and for so long, in seconds. One that is longer is for palaver to report.
MOST, LONGEST = 1 << 20, 10

ADDRESS = os.environ.get("QUOTES_API", "127.0.0.1:8000")


class Client(NetworkParty):
    """Makes the requests, by way of a library that has a connection of its own."""

    def __init__(self):
        super().__init__(ADDRESS, connection_mode=ConnectionMode.CONNECT)
        self.connection = None

    def start(self):
        pass

    def stop(self):
        if self.connection:
            self.connection.close()

    def send(self, message, recipient):
        self.connection = self.connection or http.client.HTTPConnection(self.ip, self.port, timeout=5)
        head, body, _ = str(message).split("\n")
        try:
            self.connection.request(*head.split(" "), body)
            answer = self.connection.getresponse()
            kind = answer.getheader("Content-Type", "nothing")
            head = "%d %s\n" % (answer.status, kind)
            self.receive(head.encode() + body_of(answer) + b"\n", "Server")
        except http.client.HTTPException as error:
            self.receive("no HTTP: " + repr(error), "Server")


def body_of(answer):
    """The body of an answer, piece by piece: its peer may never come to an end."""
    until, length, body = time.monotonic() + LONGEST, answer.length, b""
    while len(body) <= MOST and len(body) != length:
        if time.monotonic() > until:
            raise TimeoutError("the body of an answer took more than %d s" % LONGEST)
        piece = answer.read1(65536 if length is None else min(65536, length - len(body)))
        if not piece:
            break
        body += piece
    answer.close()
    if length is not None and len(body) < min(length, MOST):
        raise http.client.IncompleteRead(body, length - len(body))
    return body


class Server(NetworkParty):
    """Answers them. A request is heard when all of it has come; what is no HTTP is heard as it is."""

    def __init__(self):
        super().__init__(ADDRESS, connection_mode=ConnectionMode.EXTERNAL)
        self.begun = b""

    def receive(self, message, sender):
        first, self.begun = split(self.begun + (message or b""))
        while first:
            super().receive(first, "Client")
            first, self.begun = split(self.begun)
        if message is None:
            if self.begun:
                super().receive(self.begun, "Client")
            super().receive(None, "Client")

    def send(self, message, recipient):
        head, body, _ = str(message).split("\n")
        status, kind = head.split(" ", 1)
        fields = "" if kind == "nothing" else "Content-Type: %s\r\nContent-Length: %d\r\n" % (kind, len(body))
        reason = http.client.responses[int(status)]
        super().send("HTTP/1.1 %s %s\r\n%s\r\n%s" % (status, reason, fields, body), recipient)


# How a request begins, of which maybe not more than a part of the first line has come.
BEGUN = re.compile(rb"\A[A-Z]{1,9}(\Z| [!-~]*(\Z| [HTP/1.]*\r?\Z| HTTP/1\.1\r\n))")
LENGTH = re.compile(rb"\r\ncontent-length:[ ]*([0-9]{1,6})(?=\r\n|\Z)", re.IGNORECASE)


def split(data):
    """The request that the data begins with, if it is whole, and what comes after it."""
    head, end, rest = data.partition(b"\r\n\r\n")
    if not BEGUN.search(data) or len(head) > 65536:
        return data, b""
    length = LENGTH.search(head)
    size = int(length[1]) if length else 0
    if end and len(rest) >= size:
        return head.split(b" HTTP")[0] + b"\n" + rest[:size] + b"\n", rest[size:]
    return b"", data
