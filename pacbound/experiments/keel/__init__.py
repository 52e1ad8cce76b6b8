"""The 43 standard tables of KEEL: three certificates each, from one training."""
