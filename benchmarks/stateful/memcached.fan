# A cache of Debian, memcached, by its text protocol, with open names. All that is stored has five characters at first.

<start>    ::= <step>* <Client:quit>
<step>     ::= <storage> | <retrieval> | <change> | <other>
<storage>  ::= <Client:c_set> <Server:stored>
             | <Client:c_add> <perhaps> | <Client:c_replace> <perhaps> | <Client:c_append> <perhaps>
             | <Client:c_prepend> <perhaps>
             | <Client:c_cas> (<Server:stored> | <Server:exists> | <Server:not_found>)
<perhaps>  ::= <Server:stored> | <Server:not_stored>
<retrieval> ::= <Client:c_get> <Server:values> | <Client:c_gets> <Server:unique_values>
<change>   ::= <Client:c_delete> (<Server:deleted> | <Server:not_found>)
             | (<Client:c_incr> | <Client:c_decr>) (<Server:number> | <Server:not_found> | <Server:not_numeric>)
             | <Client:c_touch> (<Server:touched> | <Server:not_found>)
<other>    ::= <Client:c_flush> <Server:ok> | <Client:c_version> <Server:version> | <Client:c_verbosity> <Server:ok>

<c_set>    ::= "set " <entry>
<c_add>    ::= "add " <entry>
<c_replace> ::= "replace " <entry>
<c_append> ::= "append " <entry>
<c_prepend> ::= "prepend " <entry>
<c_cas>    ::= "cas " <key> " " <flags> " 0 5 " <unique> "\r\n" <data> "\r\n"
<c_get>    ::= "get " <key> (" " <key>)? "\r\n"
<c_gets>   ::= "gets " <key> "\r\n"
<c_delete> ::= "delete " <key> "\r\n"
<c_incr>   ::= "incr " <key> " " <amount> "\r\n"
<c_decr>   ::= "decr " <key> " " <amount> "\r\n"
<c_touch>  ::= "touch " <key> " 0\r\n"
<c_flush>  ::= "flush_all\r\n"
<c_version> ::= "version\r\n"
<c_verbosity> ::= "verbosity 0\r\n"
<quit>     ::= "quit\r\n"
<entry>    ::= <key> " " <flags> " 0 5\r\n" <data> "\r\n"

<key>      ::= r"[a-z]{3,6}"
<flags>    ::= "0" | r"[1-9][0-9]{0,2}"
<amount>   ::= r"[1-9][0-9]?"
<data>     ::= <letters> | <digits>
<letters>  ::= r"[a-z]{5}"
<digits>   ::= r"[1-9][0-9]{4}"
<unique>   ::= r"[1-9][0-9]{0,8}"

<stored>   ::= "STORED\r\n"
<not_stored> ::= "NOT_STORED\r\n"
<exists>   ::= "EXISTS\r\n"
<not_found> ::= "NOT_FOUND\r\n"
<deleted>  ::= "DELETED\r\n"
<touched>  ::= "TOUCHED\r\n"
<number>   ::= r"[0-9]+" "\r\n"
<not_numeric> ::= "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"
<ok>       ::= "OK\r\n"
<version>  ::= "VERSION " r"[ -~]+" "\r\n"
<values>   ::= <found>{0,2} "END\r\n"
<found>    ::= "VALUE " <key> " " <flags> " " r"[0-9]+" "\r\n" r"[a-z0-9 ]*" "\r\n"
<unique_values> ::= <unique_found>? "END\r\n"
<unique_found> ::= "VALUE " <key> " " <flags> " " r"[0-9]+" " " <unique> "\r\n" r"[a-z0-9 ]*" "\r\n"
