# HTTP/1.1 as it goes over the wire: requests and responses with their headers, and bodies as long as they claim to be.
#
# Both sides can be played: --client asks a server, --server answers a client such as curl. The response to a HEAD
# request tells the length of a body that does not come, so it is a message of another kind; and so is a response that
# says that the connection is closed, because nothing can follow it.

PATHS = []  # [parameter] paths that are asked for; any if there are none

<start>    ::= <exchange>+ | <exchange>* <last>
<exchange> ::= <asking> | <peeking>
<last>     ::= <last_asking> | <last_peeking>
<asking>   ::= <Client:Server:request> <Server:Client:response>
<peeking>  ::= <Client:Server:head> <Server:Client:head_response>
<last_asking>  ::= <Client:Server:request> <Server:Client:last_response>
<last_peeking> ::= <Client:Server:head> <Server:Client:last_head_response>

<request>  ::= <fetch> | <submit>
<fetch>    ::= ("GET" | "DELETE") <target> <named>* "\r\n"
<submit>   ::= ("POST" | "PUT") <target> <named>* <length> <named>* "\r\n" <body>
<head>     ::= "HEAD" <target> <named>* "\r\n"
<target>   ::= " /" r"[!-~]*" " HTTP/1.1\r\n"

<response> ::= <answer>
<last_response> ::= <answer>
<answer>   ::= <full> | <chunked> | <empty>
<full>     ::= <status> <fields> <length> <fields> "\r\n" <body>
<chunked>  ::= <status> <fields> <coding> <fields> "\r\n" <chunk>* "0\r\n\r\n"
<empty>    ::= "HTTP/1.1 204" <reason> <fields> "\r\n"

<head_response> ::= <head_answer>
<last_head_response> ::= <head_answer>
<head_answer> ::= <status> <fields> (<length> | <coding>) <fields> "\r\n" | <empty>

<status>   ::= "HTTP/1.1 " <code> <reason>
<code>     ::= r"20[0-35-9]|30[0-35-8]|4[0-9]{2}|5[0-9]{2}"
<reason>   ::= r" [ -~]*\r\n"

# Names of fields may be written in capital or in small letters (RFC 9110, 5.1). Fields that say who is asked, or where
# a message or the connection ends, are no fields like others.
<named>    ::= <host> | <field>
<fields>   ::= (<close> | <keep> | <field>)*
<host>     ::= r"(?ai:host):[ ]?[0-9A-Za-z.:-]+\r\n"
<close>    ::= r"(?ai:connection):[ ]?(?ai:close)\r\n"
<keep>     ::= r"(?ai:connection):[ ]?(?ai:keep-alive)\r\n"
<field>    ::= r"(?ai:(?!(host|content-length|transfer-encoding|connection):)[a-z][a-z0-9-]*):[ ]?[!-~]([ -~]*[!-~])?\r\n"
<length>   ::= r"(?ai:content-length):[ ]?" <size> "\r\n"
<coding>   ::= r"(?ai:transfer-encoding):[ ]?chunked\r\n"
<size>     ::= r"0|[1-9][0-9]{0,3}"
<body>     ::= <byte>{int(<size>)}
<chunk>    ::= <chunk_size> "\r\n" <byte>{int(str(<chunk_size>), 16)} "\r\n"
<chunk_size> ::= r"[1-9a-f][0-9a-f]{0,2}"

# A request names its host once (RFC 9112, 3.2).
where forall <r> in <request>: len(*<r>..<host>) == 1
where forall <r> in <head>: len(*<r>..<host>) == 1

# Only the last response closes the connection (RFC 9112, 9.6).
where forall <r> in <response>: len(*<r>..<close>) == 0
where forall <r> in <head_response>: len(*<r>..<close>) == 0
where forall <r> in <last_response>: len(*<r>..<close>) == 1
where forall <r> in <last_head_response>: len(*<r>..<close>) == 1
