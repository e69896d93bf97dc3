"""Several questions answered in one release: their query rows stacked, each with the noise of its own share.

Never sees rows. Read question (how epsilon is shared), then stacked (what is measured).
"""
