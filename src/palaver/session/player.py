"""Old names of `session.strategy`."""

from palaver.session.strategy import WAIT, RandomStrategy, Strategy, StrategyChoice

Choice = StrategyChoice
Player = Strategy
RandomPlayer = RandomStrategy

__all__ = ["WAIT", "Choice", "Player", "RandomPlayer"]
