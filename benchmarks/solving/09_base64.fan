import base64
<start>   ::= <raw> ":" <encoded>
<raw>     ::= r"[A-Za-z0-9 ]{1,24}"
<encoded> ::= r"[A-Za-z0-9+/]{2,32}={0,2}"
where str(<encoded>) == base64.b64encode(bytes(<raw>)).decode()
