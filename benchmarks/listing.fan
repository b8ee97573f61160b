# What FTP's LIST gives: one line per file. Both tools read this file.

<start>     ::= <entry>+
<entry>     ::= <mode> <blanks> <links> <blanks> <owner> <blanks> <group> <blanks> <size> " " <date> " " <file> <crlf>
<mode>      ::= <kind> <access>{3}
<kind>      ::= "-" | "d" | "l"
<access>    ::= <read> <write> <execute>
<read>      ::= "r" | "-"
<write>     ::= "w" | "-"
<execute>   ::= "x" | "-" | "s" | "t"
<blanks>    ::= " "+
<links>     ::= <figure>+
<owner>     ::= r"[a-z][a-z0-9]*"
<group>     ::= r"[a-z][a-z0-9]*"
<size>      ::= <figure>+
<figure>    ::= r"[0-9]"
<date>      ::= <month> " " <day> " " (<time> | <year>)
<month>     ::= "Jan" | "Feb" | "Mar" | "Apr" | "May" | "Jun" | "Jul" | "Aug" | "Sep" | "Oct" | "Nov" | "Dec"
<day>       ::= r"[ 0-3][0-9]"
<time>      ::= <hour> ":" <minute>
<hour>      ::= r"[0-2][0-9]"
<minute>    ::= r"[0-5][0-9]"
<year>      ::= " " <figure>{4}
<file>      ::= r"[^\r\n]+"
<crlf>      ::= "\r\n"
