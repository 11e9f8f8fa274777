"""What the reproduced papers claim, judged by results: on top of `report` and `published`."""
