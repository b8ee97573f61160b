# A language model that must keep to its instructions: reports on a subject, asked for through the API of OpenAI.
#
# The client needs the package `openai`, and finds the model by $OPENAI_BASE_URL and $OPENAI_API_KEY. For another model,
# load a second file after this one that replaces the rule of <gpt_model>.

<start>     ::= <exchange>+
<exchange>  ::= <Client:Gpt:request> <Gpt:Client:response>

<request>   ::= <gpt_model> "\n" <prompt>
<gpt_model> ::= "gpt-4.1"
<prompt>    ::= ("Write a report about " <subject> " in at least " <words> " words. "
                "It has these sections: " <section> ", " <section> ". Avoid the word: " <avoid> ".")
<subject>   ::= <verb> " " <adj> " " <noun> " " <place>
<verb>      ::= "testing" | "fixing"
<adj>       ::= "sustainable" | "innovative"
<noun>      ::= "robots" | "rockets"
<place>     ::= "on Mars" | "at sea"
<words>     ::= "20" | "40" | "80"
<section>   ::= "Background" | "Method" | "Findings" | "Outlook"
<avoid>     ::= "crash" | "failure" | "money"
<response>  ::= r"(?s).*"

# We never ask for the same section twice.
where forall <p> in <prompt>: len(set(map(str, *<p>.<section>))) == 2

# A report is about its subject, long enough, has its sections, and avoids what it must.
where forall <e> in <exchange>: str(<e>.<request>.<prompt>.<subject>) in str(<e>.<response>)
where forall <e> in <exchange>: len(str(<e>.<response>).split()) >= int(<e>.<request>.<prompt>.<words>)
where forall <e> in <exchange>: forall <s> in <e>.<request>.<prompt>.<section>: str(<s>) in str(<e>.<response>)
where forall <e> in <exchange>: str(<e>.<request>.<prompt>.<avoid>) not in str(<e>.<response>).lower()


from functools import cache


@cache
def api():
    import openai  # only here, so that the spec can be read without it

    return openai.OpenAI(max_retries=0, timeout=60)


class Client(FandangoParty):
    """Asks the model, and hears its answer."""

    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.CONNECT)

    def stop(self):
        pass

    def send(self, message, recipient):
        model, prompt = str(message).split("\n")
        messages = [{"role": "user", "content": prompt}]
        answer = api().chat.completions.create(model=model, messages=messages)
        self.receive(answer.choices[0].message.content, "Gpt")


class Gpt(FandangoParty):
    """The model."""

    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)

    def stop(self):
        pass
