<start> ::= <date> " " <date> " " <date>
<date>  ::= <year> "-" <month> "-" <day>
<year>  ::= r"[0-9]{4}"
<month> ::= r"[0-9]{2}"
<day>   ::= r"[0-9]{2}"
def days_in(year, month):
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31
def is_date(text):
    year, month, day = (int(part) for part in str(text).split("-"))
    if year < 1583:
        return False
    if month < 1 or month > 12:
        return False
    return 1 <= day <= days_in(year, month)
where is_date(<date>)
