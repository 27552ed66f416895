"""The instruction set, the Module and its file: the contract between the compiler and the VM."""
