<start>  ::= <total> <offset> <name> <sum> <body>
<total>  ::= <octet>{2}
<offset> ::= <octet>{2}
<name>   ::= rb"[a-z]{1,12}"
<sum>    ::= <octet>{2}
<body>   ::= <octet>{1,24}
<octet>  ::= rb"[\x00-\xff]"
where int.from_bytes(bytes(<total>), "big") == len(bytes(<start>))
where int.from_bytes(bytes(<offset>), "big") == int.from_bytes(bytes(<total>), "big") - len(bytes(<body>))
where int.from_bytes(bytes(<sum>), "big") == sum(bytes(<total>)) + sum(bytes(<offset>)) + sum(bytes(<body>))
