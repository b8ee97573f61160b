# Commands of a line-based protocol; one sentence is one line. Both tools read this file.

<start> ::= <command>
<command> ::= <user> | <port> | <list> | <mail>
<user> ::= "USER " <name> <crlf>
<name> ::= r"[a-z][a-z0-9]{2,11}"
<port> ::= "PORT " <octet> ("," <octet>){5} <crlf>
<octet> ::= r"[0-9]" | r"[1-9][0-9]" | r"1[0-9][0-9]"
<list> ::= "LIST" (" " <path>)? <crlf>
<path> ::= ("/" <name>)+
<mail> ::= "MAIL FROM:<" <name> "@" <name> ("." <name>)* ">" <params>? <crlf>
<params> ::= " SIZE=" r"[1-9][0-9]{0,5}"
<crlf> ::= "\r\n"
