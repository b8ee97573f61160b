# HTTP/1.1 as it goes over the wire: requests and responses with their headers, and bodies as long as they claim to be.
#
# Both sides can be played: `--client` asks a server, `--server` answers a client such as curl. The response to a HEAD
# request tells the length of a body that does not come, so it is a message of another kind.

<start>    ::= <exchange>+
<exchange> ::= <Client:Server:request> <Server:Client:response>
             | <Client:Server:head> <Server:Client:head_response>

<request>  ::= <fetch> | <submit>
<fetch>    ::= ("GET" | "DELETE") <target> <fields> "\r\n"
<submit>   ::= ("POST" | "PUT") <target> <fields> <length> <fields> "\r\n" <body>
<head>     ::= "HEAD" <target> <fields> "\r\n"
<target>   ::= " /" r"[!-~]*" " HTTP/1.1\r\n"

<response> ::= <full> | <chunked> | <empty>
<full>     ::= <status> <fields> <length> <fields> "\r\n" <body>
<chunked>  ::= <status> <fields> <coding> <fields> "\r\n" <chunk>* "0\r\n\r\n"
<empty>    ::= "HTTP/1.1 204" <reason> <fields> "\r\n"
<head_response> ::= <status> <fields> (<length> | <coding>)? <fields> "\r\n"
<status>   ::= "HTTP/1.1 " <code> <reason>
<code>     ::= "200" | "201" | "400" | "404" | "405" | "500" | "501"
<reason>   ::= r" [A-Za-z ]*\r\n"

# Field names are written in capital or small letters as one likes (RFC 9110, 5.1). The fields that say where a message
# ends are no fields like others.
<fields>   ::= <field>*
<field>    ::= <host> | <other>
<host>     ::= r"(?i:host):[ ]?[0-9A-Za-z.:-]+\r\n"
<other>    ::= r"(?i:(?!host:|content-length:|transfer-encoding:)[a-z][a-z0-9-]*):[ ]?[!-~]([ -~]*[!-~])?\r\n"
<length>   ::= r"(?i:content-length):[ ]?" <size> "\r\n"
<coding>   ::= r"(?i:transfer-encoding):[ ]?chunked\r\n"
<size>     ::= r"0|[1-9][0-9]{0,3}"
<body>     ::= <byte>{int(<size>)}
<chunk>    ::= <chunk_size> "\r\n" <byte>{int(str(<chunk_size>), 16)} "\r\n"
<chunk_size> ::= r"[1-9a-f][0-9a-f]{0,2}"

# A request names its host once (RFC 9112, 3.2), and a response never does.
where forall <r> in <request>: len(*<r>..<host>) == 1
where forall <r> in <head>: len(*<r>..<host>) == 1
where forall <r> in <response>: len(*<r>..<host>) == 0
where forall <r> in <head_response>: len(*<r>..<host>) == 0
