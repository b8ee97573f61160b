# A key-value server of Debian, redis, by its inline commands: strings, lists, sets and hashes under open names.

<start>    ::= <step>* <Client:quit> <Server:ok>
<step>     ::= <string> | <list> | <set> | <hash> | <any>
<string>   ::= <Client:c_set> <Server:ok> | <Client:c_get> (<Server:bulk> | <Server:nil> | <Server:wrong>)
             | <Client:c_incr> (<Server:number> | <Server:not_int> | <Server:wrong>)
             | <Client:c_append> (<Server:number> | <Server:wrong>)
             | <Client:c_setnx> (<Server:zero> | <Server:one>)
<list>     ::= <Client:c_push> (<Server:number> | <Server:wrong>)
             | <Client:c_pop> (<Server:bulk> | <Server:nil> | <Server:wrong>)
             | <Client:c_llen> (<Server:zero> | <Server:number> | <Server:wrong>)
<set>      ::= <Client:c_sadd> (<Server:zero> | <Server:one> | <Server:wrong>)
             | <Client:c_srem> (<Server:zero> | <Server:one> | <Server:wrong>)
             | <Client:c_scard> (<Server:zero> | <Server:number> | <Server:wrong>)
<hash>     ::= <Client:c_hset> (<Server:zero> | <Server:one> | <Server:wrong>)
             | <Client:c_hget> (<Server:bulk> | <Server:nil> | <Server:wrong>)
<any>      ::= <Client:c_del> (<Server:zero> | <Server:one>) | <Client:c_exists> (<Server:zero> | <Server:one>)
             | <Client:c_rename> (<Server:ok> | <Server:no_key>)
             | <Client:c_type> (<Server:is_none> | <Server:is_string> | <Server:is_list> | <Server:is_set> | <Server:is_hash>)
             | <Client:c_expire> (<Server:zero> | <Server:one>)
             | <Client:c_persist> (<Server:zero> | <Server:one>)
             | <Client:c_flush> <Server:ok>

<c_set>    ::= "SET " <key> " " <value> "\r\n"
<c_get>    ::= "GET " <key> "\r\n"
<c_incr>   ::= "INCR " <key> "\r\n"
<c_append> ::= "APPEND " <key> " " <value> "\r\n"
<c_setnx>  ::= "SETNX " <key> " " <value> "\r\n"
<c_push>   ::= ("LPUSH " | "RPUSH ") <key> " " <value> "\r\n"
<c_pop>    ::= ("LPOP " | "RPOP ") <key> "\r\n"
<c_llen>   ::= "LLEN " <key> "\r\n"
<c_sadd>   ::= "SADD " <key> " " <value> "\r\n"
<c_srem>   ::= "SREM " <key> " " <value> "\r\n"
<c_scard>  ::= "SCARD " <key> "\r\n"
<c_hset>   ::= "HSET " <key> " " <field> " " <value> "\r\n"
<c_hget>   ::= "HGET " <key> " " <field> "\r\n"
<c_del>    ::= "DEL " <key> "\r\n"
<c_exists> ::= "EXISTS " <key> "\r\n"
<c_rename> ::= "RENAME " <key> " " <key> "\r\n"
<c_type>   ::= "TYPE " <key> "\r\n"
<c_expire> ::= "EXPIRE " <key> " 100\r\n"
<c_persist> ::= "PERSIST " <key> "\r\n"
<c_flush>  ::= "FLUSHALL\r\n"
<quit>     ::= "QUIT\r\n"

<key>      ::= r"[a-z]{3,6}"
<field>    ::= r"f[a-z]{2,4}"
<value>    ::= <word> | <int>
<word>     ::= r"w[a-z]{0,5}"
<int>      ::= r"[1-9][0-9]{0,4}"

<ok>       ::= "+OK\r\n"
<bulk>     ::= "$" r"[0-9]+" "\r\n" r"[a-z0-9]*" "\r\n"
<nil>      ::= "$-1\r\n"
<zero>     ::= ":0\r\n"
<one>      ::= ":1\r\n"
<number>   ::= ":" r"[1-9][0-9]*" "\r\n"
<wrong>    ::= "-WRONGTYPE " r"[ -~]*" "\r\n"
<not_int>  ::= "-ERR value is not an integer or out of range\r\n"
<no_key>   ::= "-ERR no such key\r\n"
<is_none>  ::= "+none\r\n"
<is_string> ::= "+string\r\n"
<is_list>  ::= "+list\r\n"
<is_set>   ::= "+set\r\n"
<is_hash>  ::= "+hash\r\n"
