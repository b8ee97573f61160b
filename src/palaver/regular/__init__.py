"""Regular languages: regular expressions, automata, and the words of a language counted, enumerated and drawn.

The room knows neither grammars nor trees. Its theory, limits and costs are in docs/regular-languages.md. The door:

- `charset`: sets of characters
- `regex`: patterns as Python writes them, and regular expressions as textbooks have them
- `language`: languages, composed from parts; their automata
- `words`: words under conditions: their lengths, their number, random ones, those that spell a number
- `bitsets`: sets of natural numbers as bits of one number
"""

DOOR = ("charset", "regex", "language", "words", "bitsets")
