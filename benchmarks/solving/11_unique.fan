<start>   ::= <entry> (";" <entry>){2,9}
<entry>   ::= <key> "=" <content>
<key>     ::= r"[a-d][0-4]"
<content> ::= r"[0-9]{1,3}"
where len(set(str(k) for k in *<key>)) == len(*<key>)
