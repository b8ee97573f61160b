# A subset of SMTP (RFC 5321): greeting, EHLO, letters with one or more recipients, NOOP, RSET, QUIT.

<start>     ::= <Server:greeting> <Client:ehlo> <Server:features> <work>
<work>      ::= <Client:quit> <Server:bye> | <Client:noop> <Server:ok> <work> | <Client:rset> <Server:ok> <work> | <letter> <work>
<letter>    ::= <Client:mail> <Server:ok> <recipient>{1,3} <Client:data> <Server:go_ahead> <Client:content> <Server:ok>
<recipient> ::= <Client:rcpt> <Server:ok>

<greeting>  ::= "220 " <text> "\r\n"
<ehlo>      ::= "EHLO " <domain> "\r\n"
<features>  ::= <more>* "250 " <text> "\r\n"
<more>      ::= "250-" <text> "\r\n"
<mail>      ::= "MAIL FROM:<" <address> ">\r\n"
<rcpt>      ::= "RCPT TO:<" <address> ">\r\n"
<data>      ::= "DATA\r\n"
<go_ahead>  ::= "354 " <text> "\r\n"
<content>   ::= "Subject: " <subject> "\r\n\r\n" <line>{1,5} ".\r\n"
<line>      ::= r"[A-Za-z ]{1,40}" "\r\n"
<subject>   ::= r"[A-Za-z ]{1,20}"
<noop>      ::= "NOOP\r\n"
<rset>      ::= "RSET\r\n"
<quit>      ::= "QUIT\r\n"
<ok>        ::= "250 " <text> "\r\n"
<bye>       ::= "221 " <text> "\r\n"
<text>      ::= r"[^\r\n]*"
<address>   ::= <name> "@" <domain>
<name>      ::= r"[a-z]{1,8}"
<domain>    ::= r"[a-z]{1,8}" ".example"

# Nobody writes to himself.
where forall <l> in <letter>: <l>.<mail>.<address> != <l>.<recipient>.<rcpt>.<address>
