from bitextbench.cli import main

main()
