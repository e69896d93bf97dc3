"""Several questions answered in one release: their query rows stacked, each with the noise of its own share.

Never sees rows. Read question (how epsilon is shared), stacked (what is measured at once), then in_turn (what
is picked after it).
"""
