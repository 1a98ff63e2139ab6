# For scripts to read: the version of LLVM, and a function that runs one of its tools.

llvm=22

llvm() {
    tool=$1
    shift
    if command -v "$tool-$llvm" >/dev/null; then "$tool-$llvm" "$@"; else "/usr/lib/llvm-$llvm/bin/$tool" "$@"; fi
}
