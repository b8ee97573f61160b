# SMTP for testing existing clients: curl, swaks, msmtp, smtplib and others that send mail.
#
#     palaver talk -f smtp_clients.fan --server {port} --quiet-interval 2 --target \
#         'curl -sS smtp://127.0.0.1:{port} -u the_user:the_password --mail-from a@b --mail-rcpt c@d -T mail.txt'
#
# starts the client for each session. It logs in with the account of smtp.fan or with a wrong one. Now and then
# the server says no, wherever it may: the client has to take it as RFC 5321 says. It may leave then, and who may leave
# or say more is given two seconds here to do either. To let the server say no in all ways, add --goal inputs.
#
# All of smtp.fan, with these rules in place of its own. What was one way of writing becomes all that clients use.

include('smtp.fan')


# --- The session ------------------------------------------------------------------------------------------------------

<start>           ::= <Server:greeting> <hello> | <Server:no_service> <leave>
<hello>           ::= <Client:ehlo> <Server:features> <guest> | <Client:ehlo> <Server:unknown> <old_hello>
<old_hello>       ::= <Client:helo> <Server:welcome> <let_down> | <leave>

# Whoever does not get what he came for may leave without a word. RFC 5321 (4.1.1.10) forbids it, but most clients do:
# if yours must not, replace this rule by <leave> ::= <farewell>.
<leave>           ::= <farewell>?

# A login may fail although all is right; never the other way round. Who was turned away may try again, but not go on.
<guest>           ::= <attempt> | <not_allowed> <leave> | <leave>
<attempt>         ::= <login_good> <member> | <login_bad> <turned_away>
<turned_away>     ::= <attempt> | <leave>
<login_good>      ::= <account> <Server:logged_in>
<login_bad>       ::= <account> <Server:login_refused> | <wrong_account> <Server:login_failed> | <no_mechanism>
<no_mechanism>    ::= (<Client:auth> | <Client:auth_plain>) <Server:auth_refused>

# With LOGIN the name and the password are asked for; with PLAIN (RFC 4616) they come together. In either case the
# client may give the first answer at once.
<account>         ::= <login_answers> | <plain_asked> <Client:plain> | <Client:plain_at_once>
<login_answers>   ::= <user_given> <Server:for_password> <Client:password>
<user_given>      ::= <Client:auth> <Server:for_user> <Client:user> | <Client:user_at_once>
<plain_asked>     ::= <Client:auth_plain> <Server:for_plain>
<wrong_account>   ::= <wrong_login> | <plain_asked> <Client:wrong_plain> | <Client:wrong_plain_at_once>
<wrong_login>     ::= (<user_given> | <wrong_user_given>) <Server:for_password> <Client:wrong_password>
<wrong_user_given> ::= <Client:auth> <Server:for_user> <Client:wrong_user> | <Client:wrong_user_at_once>

# Who has sent a message says good bye.
<member>          ::= <sent> <member> | <not_sent> <let_down> | (<pause> | <reset>) <member> | <farewell>
<let_down>        ::= <sent> <member> | <not_sent> <let_down> | <reset> <let_down> | <leave>

<sent>            ::= <transaction> <Server:taken>
<not_sent>        ::= <transaction> <Server:message_refused> | <Client:mail> <cut_short>
<cut_short>       ::= <Server:mail_refused> | <Server:ok> <given_up>
<transaction>     ::= <Client:mail> <Server:ok> <Client:rcpt> <somebody> <Client:data> <Server:go_ahead> <Client:message>
<given_up>        ::= <reset> | <Client:rcpt> (<nobody> | <somebody> <no_message>)
<no_message>      ::= <Client:data> <Server:data_refused> | <Client:copy> <Server:rcpt_refused> | <reset>

# Without a recipient there is no DATA.
<somebody>        ::= (<Server:ok> | <nobody> <Client:copy> <Server:ok>) <bystander>*
<nobody>          ::= <Server:rcpt_refused> (<Client:copy> <Server:rcpt_refused>)*
<bystander>       ::= <Client:copy> (<Server:ok> | <Server:rcpt_refused>)


# --- What the client says ---------------------------------------------------------------------------------------------

# RFC 5321, 2.4: commands are not case sensitive, and clients write them in all ways.
<ehlo>            ::= r"(?ai:EHLO )" <client_name> "\r\n"
<helo>            ::= r"(?ai:HELO )" <client_name> "\r\n"
<auth>            ::= <to_log_in> <login> "\r\n"
<user_at_once>    ::= <to_log_in> <login> " " <user_base64> "\r\n"
<wrong_user_at_once> ::= <to_log_in> <login> " " <wrong_base64> "\r\n"
<auth_plain>      ::= <to_log_in> <plain_login> "\r\n"
<plain>           ::= <plain_base64> "\r\n"
<plain_at_once>   ::= <to_log_in> <plain_login> " " <plain_base64> "\r\n"
<wrong_plain>     ::= <wrong_plain_base64> "\r\n"
<wrong_plain_at_once> ::= <to_log_in> <plain_login> " " <wrong_plain_base64> "\r\n"
<mail>            ::= r"(?ai:MAIL FROM:)<" <address> ">" <size>? "\r\n"
<rcpt>            ::= r"(?ai:RCPT TO:)<" <address> ">\r\n"
<copy>            ::= r"(?ai:RCPT TO:)<" <address> ">\r\n"
<data>            ::= r"(?ai:DATA)\r\n"
<rset>            ::= r"(?ai:RSET)\r\n"
<noop>            ::= r"(?ai:NOOP)\r\n"
<help>            ::= r"(?ai:HELP)" r"( [!-~]+)?" "\r\n"
<vrfy>            ::= r"(?ai:VRFY )" r"[!-~]+" "\r\n"
<quit>            ::= r"(?ai:QUIT)\r\n"

<to_log_in>       ::= r"(?ai:AUTH )"
<login>           ::= r"(?ai:LOGIN)"
<plain_login>     ::= r"(?ai:PLAIN)"
<size>            ::= r"(?ai: SIZE=)" r"[0-9]{1,20}"
<client_name>     ::= r"[A-Za-z0-9.-]+|\[[0-9A-Za-z.:]+\]"
<name>            ::= r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+"
<domain>          ::= r"[A-Za-z0-9.-]+"

# Any message, as long as its lines end as they should, and what begins with a dot has got another one.
<message>         ::= <header>* ("\r\n" <line>*)? ".\r\n"
<header>          ::= <sent_by> | <sent_to> | <other_header>
<sent_by>         ::= "From: " r"([ -;=?-~]* )?<?" <address> r">?" "\r\n"
<sent_to>         ::= "To: " r"([ -;=?-~]* )?<?" <address> r">?(,[^\r\n]*)?" "\r\n"
<other_header>    ::= r"(?!From:|To:)[!-9;-~]+:[^\r\n]*(\r\n[ \t][^\r\n]*)*" "\r\n"
<line>            ::= r"([^.\r\n][^\r\n]*)?" "\r\n" | ".." r"[^\r\n]*" "\r\n"


# --- What the server says ---------------------------------------------------------------------------------------------

# In one line or in two, with a blank behind the code, as servers should have it (RFC 5321, 4.2).
<greeting>        ::= "220 " <host> r"( [ -~]*)?" "\r\n"
<welcome>         ::= "250 " <host> r"( [ -~]*)?" "\r\n"
<logged_in>       ::= r"(235-[ -~]*\r\n)?235 [ -~]*" "\r\n"
<ok>              ::= r"(250-[ -~]*\r\n)?250 [ -~]*" "\r\n"
<go_ahead>        ::= r"(354-[ -~]*\r\n)?354 [ -~]*" "\r\n"
<bye>             ::= r"(221-[ -~]*\r\n)?221 [ -~]*" "\r\n"
<login_failed>    ::= r"(535-[ -~]*\r\n)?535 [ -~]*" "\r\n"
<login_needed>    ::= r"(530-[ -~]*\r\n)?530 [ -~]*" "\r\n"
<not_allowed>     ::= <Client:mail> <Server:login_needed>
<taken>           ::= r"(250-[ -~]*\r\n)?250 [ -~]*" "\r\n"
<no_service>      ::= r"554 [ -~]*" "\r\n"
<unknown>         ::= r"50[024] [ -~]*" "\r\n"

# Not now, or never; in one line, or in two. Each step has a name of its own for it, so that guided sessions try
# them all.
<login_refused>   ::= <rejection>
<auth_refused>    ::= <rejection>
<mail_refused>    ::= <rejection>
<rcpt_refused>    ::= <rejection>
<data_refused>    ::= <rejection>
<message_refused> ::= <rejection>
<rejection>       ::= (<later> | <never>) "\r\n"
<later>           ::= r"45[0-2] [ -~]*" | r"451-[ -~]*\r\n451 [ -~]*"
<never>           ::= r"55[0-4] [ -~]*" | r"550-[ -~]*\r\n550 [ -~]*"

<for_user>        ::= "334 VXNlcm5hbWU6\r\n" | "334 VXNlciBOYW1lAA==\r\n"
<for_password>    ::= "334 UGFzc3dvcmQ6\r\n" | "334 UGFzc3dvcmQA\r\n"
<for_plain>       ::= "334 \r\n"

# There are no extensions that change what a client sends, but SIZE.
<features>        ::= "250-" <host> r"( [ -~]*)?" "\r\n" <size_offer>? <login_offer> <extension>* "250 HELP\r\n"
<size_offer>      ::= r"250-SIZE [1-9][0-9]{6,8}" "\r\n"
<login_offer>     ::= "250-AUTH " ("LOGIN" | "PLAIN" | "LOGIN PLAIN" | "PLAIN LOGIN") "\r\n"
<extension>       ::= "250-8BITMIME\r\n" | r"250-X[A-Z0-9]{1,8}( [0-9]+)?" "\r\n"
<host>            ::= r"([a-z][a-z0-9]{0,8}\.)?example"


# --- What is computed -------------------------------------------------------------------------------------------------

# The same as in smtp.fan for PLAIN: nothing (on behalf of whom), the name, and the password, each after a zero byte.
<plain_base64>    ::= r"[A-Za-z0-9+/]+={0,2}" := encoded(<credentials>)
# [set by USER, PASSWORD]
<credentials>     ::= "\x00the_user\x00the_password" := decoded(<plain_base64>)
<wrong_plain_base64> ::= r"[A-Za-z0-9+/]+={0,2}" := encoded(<guesses>)
# [set by USER, PASSWORD]
<guesses>         ::= "\x00" r"the_user|[a-z]{1,12}" "\x00" r"(?!the_password\Z)[a-z]{1,12}" := decoded(<wrong_plain_base64>)


# --- What must hold ---------------------------------------------------------------------------------------------------

# Of the extensions, only those are used that were offered.
where forall <s> in <size>: "SIZE" in str(<features>)
where forall <l> in <login>: "LOGIN" in str(<features>..<login_offer>)
where forall <p> in <plain_login>: "PLAIN" in str(<features>..<login_offer>)

# Clients may make as many mistakes as they like.
MOST_MISTAKES = MOST_PAUSES = 1000000
