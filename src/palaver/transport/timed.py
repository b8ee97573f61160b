from palaver.transport.drive import LOOK_UP_EVERY as LOOK_UP_EVERY
from palaver.transport.drive import Timed as Timed
