"""Transitional names; see `palaver.regular.charset`."""

from palaver.regular.charset import ASCII as ASCII
from palaver.regular.charset import BYTES as BYTES
from palaver.regular.charset import END_OF_UNICODE as END_OF_UNICODE
from palaver.regular.charset import EVERY as EVERY
from palaver.regular.charset import NO_CHARS as NO_CHARS
from palaver.regular.charset import CharSet as CharSet
