# SMTP in full (RFC 5321, 3207, 4954): all of smtp, with STARTTLS, AUTH PLAIN, odd addresses and letters, and mistakes.
#
#     palaver talk smtp_full --client 8025        tests the server that listens on port 8025
#     palaver talk smtp_full --server 8025        tests the clients that connect to port 8025
#
# Everything that is not said here is as in smtp.fan. The server may offer STARTTLS or not, and a login or not: what it
# offers decides what is done next. Who offers a login takes mail only from those who have logged in.

include('smtp_starttls.fan')


# --- States -----------------------------------------------------------------------------------------------------------
#
# One rule is one state. It lists what may be said any number of times, and then what leads on.

<start>           ::= <Server:greeting> <stranger> | <turned_away>

# Nobody has said hello. What needs a hello is refused.
<stranger>        ::= (<too_early> | <early_login> | <early_reset> | <idle> | <slip>)* (<hello> | <sent_away>)
<hello>           ::= <Client:ehlo> <known> | <Client:helo> <Server:welcome> <old_style>
<too_early>       ::= <Client:mail> (<Server:out_of_order> | <Server:mail_before_hello> <reset>)
<early_login>     ::= (<Client:auth> | <Client:rcpt> | <Client:data>) <Server:not_yet> | <Client:auth> <login_before_hello>
# [note] RFC 4954 (4): AUTH is accepted before the hello
<login_before_hello> ::= <Server:prompt> <Client:cancel> <Server:cancelled>

# Without extensions nobody logs in, and nobody encrypts. Whether mail is taken depends on the server.
<old_style>       ::= (<no_login> | <mail_in_old_style> | <idle> | <free_reset> | <slip>)* <after_old_style>
<after_old_style> ::= <Client:ehlo> <known> | <Client:ehlo> <Server:greeted_already> <farewell> | <farewell> | <sent_away>
<mail_in_old_style> ::= <Client:mail> (<Server:login_needed> | <Server:ok> <reset>)

# Three kinds of servers: those that want to be encrypted before a login, those that offer one, those that need none.
<known>           ::= <Server:tls_features> <in_clear> | <Server:features> <guest> | <Server:other_features> <member_or_not>
<in_clear>        ::= (<no_login> | <mail_in_clear> | <idle> | <free_reset> | <slip> | <no_tls>)* (<encryption> <in_secret> | <farewell> | <sent_away> | <cut_short>)
<mail_in_clear>   ::= <Client:mail> (<Server:login_needed> | <Server:ok> <reset>)

# What was said in clear may have been said by anybody, so it is forgotten, and they say hello again.
<in_secret>       ::= (<too_early> | <early_reset> | <idle> | <slip>)* <Client:ehlo> <known_in_secret>
<known_in_secret> ::= <Server:secret_features> <secret_guest> | <Server:plain_features> <member_or_not>

<guest>           ::= (<login_failure> | <not_allowed> | <idle> | <free_reset> | <slip> | <no_tls>)* (<login> <member> | <to_secret> | <farewell> | <sent_away> | <cut_short> | <locked_out>)
<to_secret>       ::= <encryption> <in_secret>
<secret_guest>    ::= (<login_failure> | <not_allowed> | <idle> | <free_reset> | <slip>)* (<login> <member> | <farewell> | <sent_away> | <locked_out>)

# [note] RFC 5321 (3.8): the server ends the session of who makes many mistakes
<cut_short>       ::= (<Client:starttls> | <Client:noop> | <Client:help> | <Client:vrfy>) <Server:closing> <Server:connection_ended>

<member_or_not>   ::= <member> | <Client:mail> <Server:kept_out> <farewell>
# [note] RFC 4954 (6): the server wants a login, and offers none that is known here
<kept_out>        ::= <login_needed>

<member>          ::= (<about_mail> | <disorder> | <idle> | <free_reset> | <slip> | <mail_slip> | <new_hello> | <put_off>)* <leaving>
<about_mail>      ::= <transaction> | <odd_transaction>
<leaving>         ::= <farewell> | <shut_down> | <Client:odd_quit> (<Server:not_understood> <farewell> | <Server:bye>)
<disorder>        ::= (<Client:rcpt> | <Client:data>) <Server:out_of_order> | <Client:auth> (<Server:out_of_order> | <Server:not_offered>)

# Who has logged in is told 503 (RFC 4954, 4). Where nobody can, AUTH may be no command, or one that is not for this
# connection.
<not_offered>     ::= r"((454|50[0-4]|53[0-9]|55[0-4])-[\t -~]*\r\n)*(454|50[0-4]|53[0-9]|55[0-4])( [\t -~]*)?" "\r\n"
where len(*<disorder>.<not_offered>) == 0 or len(*<logged_in>) == 0

# Whoever says hello again forgets the envelope, and stays logged in.
<new_hello>       ::= (
    <Client:helo> <Server:welcome> <old_parameters>? <hello_again> |
    <Client:ehlo> <Server:any_features> | (<Client:ehlo> | <Client:helo>) <Server:greeted_already>
)
<hello_again>     ::= <Client:ehlo> <Server:any_features>
# [note] RFC 5321 (4.1.4): who has said hello may not say it again
<greeted_already> ::= r"(503-[\t -~]*\r\n)*503( [\t -~]*)?" "\r\n"
<old_parameters>  ::= <Client:odd_mail> (<Server:rejection> | <Server:ok> (<Client:odd_rcpt> <Server:rcpt_answer>)? <reset>)
<rcpt_answer>     ::= <recipient_ok> | <rejection>


# --- Encryption -------------------------------------------------------------------------------------------------------

<encryption>      ::= <Client:starttls> <Server:tls_ready>
<no_tls>          ::= <Client:starttls> <Server:tls_refused> | <Client:odd_starttls> <Server:not_understood>
<odd_starttls>    ::= "STARTTLS now\r\n"
<tls_refused>     ::= r"(454-[\t -~]*\r\n)*454( [\t -~]*)?|(5[0-9]{2}-[\t -~]*\r\n)*5[0-9]{2}( [\t -~]*)?" "\r\n"

<tls_features>    ::= "250-" <host> r"( [\t -~]*)?" "\r\n" <extension>* <tls_offer>
<secret_features> ::= <features>
<plain_features>  ::= <other_features>
<any_features>    ::= "250-" <host> r"( [\t -~]*)?\r\n(250-[A-Za-z0-9][A-Za-z0-9-]*([ =][!-~]+)*\r\n)*250 [A-Za-z0-9][A-Za-z0-9-]*([ =][!-~]+)*" "\r\n" | "250 " <host> r"( [\t -~]*)?" "\r\n"

where forall <f> in <tls_features>: " LOGIN" not in str(<f>).upper()
where forall <f> in <other_features>: "STARTTLS" not in str(<f>).upper()
# RFC 3207 (4.2): who is encrypted is not offered encryption.
where forall <f> in <secret_features>: "STARTTLS" not in str(<f>).upper()
where forall <f> in <plain_features>: "STARTTLS" not in str(<f>).upper()
where <greeting>..<host> == <secret_features>..<host>
where <greeting>..<host> == <plain_features>..<host>
where <greeting>..<host> == <any_features>.<host>


# --- Login ------------------------------------------------------------------------------------------------------------
#
# AUTH LOGIN asks for a name and a password, AUTH PLAIN for both at once. Either may come with the command (RFC 4954, 4).

<login>           ::= <login_good> | <login_at_once> | <plain_login>
<login_at_once>   ::= <Client:auth_user> <Server:prompt> <Client:password> <Server:logged_in>
<plain_login>     ::= <Client:plain_at_once> <Server:logged_in> | <Client:plain> <Server:prompt> <Client:plain_account> <Server:logged_in>

<login_failure>   ::= <login_bad> | <login_ended> | <login_broken> | <plain_failure> | <wrong_login>
<login_ended>     ::= (
    <Client:auth> <Server:prompt> <Client:cancel> <Server:cancelled> |
    <Client:auth_user> <Server:prompt> <Client:cancel> <Server:cancelled>
)
<login_broken>    ::= (
    <Client:auth> <Server:prompt> <Client:no_base64> <Server:login_failed> |
    <Client:auth_user> <Server:prompt> <Client:no_base64> <Server:login_failed> |
    <Client:auth_user> <Server:prompt> <Client:wrong_password> <Server:login_failed>
)
<plain_failure>   ::= (
    <Client:wrong_plain_at_once> <Server:login_failed> |
    <Client:plain_at_once> <Server:no_mechanism> |
    <Client:plain> (
        <Server:prompt> (
            (<Client:wrong_plain> | <Client:no_base64>) <Server:login_failed> | <Client:cancel> <Server:cancelled>
        ) | <Server:no_mechanism>
    )
)
<wrong_login>     ::= <Client:wrong_auth> (<Server:login_failed> | <Server:prompt> <Client:cancel> <Server:cancelled>)

<auth>            ::= r"(?ai:AUTH) LOGIN" "\r\n"
<auth_user>       ::= "AUTH LOGIN " <user_base64> "\r\n"
<plain>           ::= "AUTH PLAIN\r\n"
<plain_at_once>   ::= "AUTH PLAIN " <plain_base64> "\r\n"
<plain_account>   ::= <plain_base64> "\r\n"
<wrong_plain_at_once> ::= "AUTH PLAIN " (<guessed_base64> | <wrong_plain_base64> | <odd_base64>) "\r\n"
<wrong_plain>     ::= (<guessed_base64> | <wrong_plain_base64>) "\r\n"
<no_base64>       ::= <odd_base64> "\r\n"
<odd_base64>      ::= "%%%" | "a" | "YQ==YQ==" | "YQ"
<wrong_auth>      ::= "AUTH" ("" | " XYZZY" | " LOGIN a b" | " LOGIN %" | " PLAIN YQ== YQ==") "\r\n"
<no_mechanism>    ::= <not_offered>

# A name to act for, which may be missing, the name of the user, and the password, with a NUL between them (RFC 4616, 2).
<plain_base64>    ::= r"[A-Za-z0-9+/]+={0,2}" := encoded(<plain_text>)
# [set by USER, PASSWORD]
<plain_text>      ::= "\0the_user\0the_password" := decoded(<plain_base64>)
<guessed_base64>  ::= r"[A-Za-z0-9+/]+={0,2}" := encoded(<guessed_text>)
# [set by USER, PASSWORD]
<guessed_text>    ::= r"\x00the_user\x00(?!the_password\Z)[a-z]{1,12}" := decoded(<guessed_base64>)
# There is something missing, or too much.
<wrong_plain_base64> ::= r"[A-Za-z0-9+/]+={0,2}" := encoded(<wrong_plain_text>)
<wrong_plain_text> ::= r"[a-z]{1,8}(\x00[a-z]{1,8})?|\x00[a-z]\x00[a-z]\x00[a-z]" := decoded(<wrong_plain_base64>)



# --- At any time ------------------------------------------------------------------------------------------------------
#
# RFC 5321 (4.1.4): these need no order. Servers need not tell anything to those who have not logged in.

<idle>            ::= (
    <Client:noop> <Server:ok> | <Client:noop_words> <Server:words_ignored_or_not> | <Client:help> <Server:advice> | (<Client:vrfy> | <Client:expn>) <Server:verified>
)
<free_reset>      ::= <Client:rset> <Server:ok>
<early_reset>     ::= <Client:rset> <Server:reset_or_not>
<noop>            ::= r"(?ai:NOOP)" "\r\n"
<noop_words>      ::= "NOOP " <text> "\r\n"
# A server should ignore the words behind NOOP (4.1.1.9), and let RSET be said before the hello (4.1.4).
<words_ignored_or_not> ::= r"((250|50[0-4])-[\t -~]*\r\n)*(250|50[0-4])( [\t -~]*)?" "\r\n"
<reset_or_not>    ::= r"((250|503)-[\t -~]*\r\n)*(250|503)( [\t -~]*)?" "\r\n"
<help>            ::= "HELP" ("" | " " <topic>) "\r\n"
<topic>           ::= "MAIL" | "rcpt" | "EHLO" | "STARTTLS" | "EXPN" | "XYZZY"
<vrfy>            ::= "VRFY " ("<" <address> ">" | <address> | <name> | <odd_path> | "<") "\r\n"
<expn>            ::= "EXPN " <name> "\r\n"

<not_yet>         ::= r"((50[0-4]|53[0-9]|55[0-4])-[\t -~]*\r\n)*(50[0-4]|53[0-9]|55[0-4])( [\t -~]*)?" "\r\n"

# What is no command, or has too few or too many words. It changes nothing.
<slip>            ::= <Client:unknown> <Server:not_understood> | <Client:odd_line> <Server:understood_or_not>
<unknown>         ::= (r"XYZ[A-Z]{0,5}( [a-z]{1,8})?" | "TURN" | "H\u00c9LO example" | r"Q{520,530}") "\r\n"
<odd_line>        ::= (
    "" | "EHLO" | "HELO" | "VRFY" | "EXPN" | "RSET now" | "NOOP \u00e9" |
    r"NOOP [a-z]{600,620}" | r"NOOP [a-z]{1010,1030}"
) "\r\n"
<odd_quit>        ::= "QUIT now\r\n"
<not_understood>  ::= r"(5(0[0-4]|21|30|5[0-5])-[\t -~]*\r\n)*5(0[0-4]|21|30|5[0-5])( [\t -~]*)?" "\r\n"

# Some servers do not mind if a command has too few, too many or too long words.
<understood_or_not> ::= r"((25[0-2]|5(0[0-4]|21|30|5[0-5]))-[\t -~]*\r\n)*(25[0-2]|5(0[0-4]|21|30|5[0-5]))( [\t -~]*)?" "\r\n"


# --- Envelopes --------------------------------------------------------------------------------------------------------

# In a transaction, there is no other one, and nothing without recipients.
<transaction>     ::= <Client:mail> <Server:ok> <not_now>* (<Client:rcpt> <Server:recipient_ok> <addressed> | <reset>)
<not_now>         ::= <Client:data> <Server:out_of_order> | <Client:nested_mail> <Server:out_of_order> | <Client:noop> <Server:ok>
<nested_mail>     ::= "MAIL FROM:<" <address> ">\r\n"
<addressed>       ::= (<bystander> | <Client:noop> <Server:ok>)* (<delivery> | <reset>)

# Parameters and addresses that a server need not know, or need not like. It says so, and nothing is changed.
<odd_transaction> ::= <Client:odd_mail> (<Server:rejection> | <Server:ok> <odd_envelope>)
<odd_envelope>    ::= <not_taken>* (
    <reset> | <Client:data> <Server:out_of_order> <reset> | (<Client:rcpt> | <Client:odd_rcpt>) <Server:recipient_ok> <odd_letter> |
    <Client:wrong_rcpt> <Server:taken_anyway> <reset>
)
<not_taken>       ::= (<Client:rcpt> | <Client:odd_rcpt> | <Client:wrong_rcpt>) <Server:rejection>
<odd_letter>      ::= (
    <reset> | <Client:odd_data> <Server:not_understood> <reset> |
    (<Client:data> | <Client:odd_data>) <Server:go_ahead> <Client:odd_message> (<Server:ok> | <Server:letter_refused>)
)
<mail_slip>       ::= <Client:wrong_mail> (<Server:rejection> | <Server:taken_anyway> <reset>)

# [note] RFC 5321 (4.1.2): the server takes an address or a parameter that is not written as it should be
<taken_anyway>    ::= r"(25[0-2]-[\t -~]*\r\n)*25[0-2]( [\t -~]*)?" "\r\n"
# [note] RFC 5321 (4.5.3.1): the server does not take every letter
<letter_refused>  ::= <rejection>

<mail>            ::= r"(?ai:MAIL FROM:)" "<" <address> ">\r\n"
<odd_mail>        ::= "MAIL FROM:" ("<" <address> ">" <mail_parameter>{1,2} | ("<>" | "<" <odd_path> ">") <mail_parameter>?) "\r\n"
<mail_parameter>  ::= " SIZE=" r"[1-9][0-9]{0,3}" | " BODY=7BIT" | " BODY=8BITMIME" | " SMTPUTF8" | " AUTH=<>" | " RET=HDRS"
<odd_rcpt>        ::= "RCPT TO:<" (<odd_path> ">" | <address> ">" <rcpt_parameter> | "Postmaster>") "\r\n"
<rcpt_parameter>  ::= " NOTIFY=NEVER" | " ORCPT=rfc822;" <address> | " XYZZY" | " XYZZY=1"
<odd_data>        ::= "DATA now\r\n"

# Quoted names, addresses of machines, and the way that a letter should take (RFC 5321, 4.1.2 and 4.1.3).
<odd_path>        ::= (
    "\"" r"[a-z]([a-z .@,]|\\\\[\"\\\\]){0,8}" "\"@" <domain> | <name> "@[127.0.0.1]" | <name> "@[IPv6:::1]" |
    "@" <domain> ("," "@" <domain>)? ":" <address> | <name> "+" <name> "@" <domain> | r"[A-Z]{1,8}" "@EXAMPLE.COM"
)

<wrong_mail>      ::= "MAIL" ("" | " FROM:" | " TO:" <path> | " FROM:<" <address> | " FROM:" <wrong_path> | " FROM:" <path> <wrong_parameter>) "\r\n"
<wrong_rcpt>      ::= "RCPT" ("" | " TO:" | " FROM:" <path> | " TO:<" <address> | " TO:" <wrong_path> | " TO:" <path> <wrong_parameter>) "\r\n"
<path>            ::= "<" <address> ">"
<wrong_path>      ::= "<" <name> "@>" | "<@" <domain> ">" | <address> | "<" <name> " " <name> "@" <domain> ">" | "<" <name> "@" <domain> "@" <domain> ">"
<wrong_parameter> ::= (
    " SIZE=x" | " SIZE=" | " SIZE" | " SIZE=99999999999999" | " BODY=9BIT" | " BODY" | " SMTPUTF8=1" | " =" | " XYZZY=1" | " XYZZY" | " X-Y=="
)


# --- Letters ----------------------------------------------------------------------------------------------------------

# Lines of up to 998 bytes, lines that are longer, and what is not ASCII.
<odd_message>     ::= "From: <" <address> ">\r\nSubject: " <text> "\r\n\r\n" <odd_text>* ".\r\n"
<odd_text>        ::= <line> | "\r\n" | "..\r\n" | "..." <text> "\r\n" | r"[a-z]{900,998}" "\r\n" | r"[a-z]{1010,1030}" "\r\n" | r"[\u00e0-\u00ff]{1,40}" "\r\n"


# --- What must hold ---------------------------------------------------------------------------------------------------

# As in smtp: who knows that a server hangs up on those who make mistakes sets a limit. Where there is no encryption,
# STARTTLS is one: Postfix takes a second for each answer after ten.
where (
    len(*<unknown>) + len(*<odd_line>) + len(*<wrong_mail>) + len(*<wrong_rcpt>) + len(*<wrong_auth>) + len(*<odd_quit>)
    + len(*<odd_mail>) + len(*<odd_rcpt>) + len(*<odd_data>) + len(*<odd_starttls>) + len(*<nested_mail>) + len(*<no_base64>)
    + len(*<wrong_plain>) + len(*<wrong_plain_at_once>) + len(*<plain>) + len(*<plain_at_once>) + len(*<vrfy>) + len(*<expn>)
    + len(*<noop_words>) + len(*<help>) + len(*<early_login>.<auth>) + len(*<early_login>.<rcpt>) + len(*<early_login>.<data>)
    + len(*<too_early>.<mail>) + len(*<disorder>.<rcpt>) + len(*<disorder>.<data>) + len(*<disorder>.<auth>) + len(*<no_login>.<auth>)
    + len(*<unheeded>) + len(*<sent_away>) + len(*<starttls>) + len(*<login_ended>.<cancel>) + len(*<wrong_account>)
    + len(*<not_now>.<data>) + len(*<odd_envelope>.<data>) <= MOST_MISTAKES
)
# What is begun with MAIL may have to be ended with RSET, and HELO with EHLO.
where (
    len(*<noop>) + len(*<help>) + len(*<vrfy>) + len(*<auth>) + len(*<expn>) + len(*<odd_line>) + len(*<unknown>)
    + len(*<free_reset>.<rset>) + len(*<early_reset>.<rset>) + len(*<mail>) + len(*<odd_mail>) + len(*<wrong_mail>)
    + len(*<auth_user>) + len(*<plain>) + len(*<plain_at_once>) + len(*<wrong_plain_at_once>) + len(*<wrong_auth>)
    + len(*<new_hello>.<helo>) + len(*<new_hello>.<helo>) + len(*<new_hello>.<ehlo>) + len(*<noop_words>) <= MOST_PAUSES
)


class Client(Client):
    """Encrypts only if the server is ready."""

    is_waiting = False

    def send(self, message, recipient):
        self.is_waiting = message.symbol == "<starttls>"
        super().send(message, recipient)

    def receive(self, message, sender):
        if self.is_waiting and message:
            self.is_waiting = False
            self.has_asked = message[:1] == b"2"
        super().receive(message, sender)
