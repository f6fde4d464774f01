import sys

from combred.pipeline.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
