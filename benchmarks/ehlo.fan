# The reply to EHLO: all lines but the last have a hyphen after the code. Both tools read this file.

<start>     ::= <continued>* <last>
<continued> ::= <code> "-" <text> <crlf>
<last>      ::= <code> " " <text> <crlf>
<code>      ::= r"[2-5][0-5][0-9]"
<text>      ::= r"[^\r\n]*"
<crlf>      ::= "\r\n"
