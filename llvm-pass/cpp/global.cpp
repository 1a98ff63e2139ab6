// Functions and global variables.
#include "shim.h"

using namespace llvm;

extern "C" {

// Whether another definition may take the place of this one when the program is linked or loaded.
int dsm_shim_is_interposable(LLVMValueRef Global) { return cast<GlobalValue>(unwrap(Global))->isInterposable(); }

} // extern "C"
