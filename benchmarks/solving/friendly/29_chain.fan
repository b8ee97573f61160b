<start>  ::= <total> <offset> <name> <sum> <body>
<total>  ::= <octet>{2}
<offset> ::= <octet>{2}
<name>   ::= rb"[a-z]{1,12}"
<sum>    ::= <octet>{2}
<body>   ::= <octet>{1,24}
<octet>  ::= rb"[\x00-\xff]"
where bytes(<total>) == len(bytes(<start>)).to_bytes(2, "big")
where bytes(<offset>) == (int.from_bytes(bytes(<total>), "big") - len(bytes(<body>))).to_bytes(2, "big")
where bytes(<sum>) == (sum(bytes(<total>)) + sum(bytes(<offset>)) + sum(bytes(<body>))).to_bytes(2, "big")
