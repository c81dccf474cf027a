from bitextbench.cli.main import main

main()
