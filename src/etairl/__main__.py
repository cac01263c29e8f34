"""`python -m etairl` is `etairl`."""

from etairl.cli.app import main

raise SystemExit(main())
