// Questions about values and instructions.
#include "shim.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;
using namespace dsm;

extern "C" {

int dsm_shim_call_touches_memory(LLVMValueRef I) {
  return !cast<CallBase>(unwrap(I))->getMemoryEffects().doesNotAccessMemory();
}
int dsm_shim_call_no_sync(LLVMValueRef I) { return cast<CallBase>(unwrap(I))->hasFnAttr(Attribute::NoSync); }
int dsm_shim_call_no_capture(LLVMValueRef I, unsigned Arg) {
  return cast<CallBase>(unwrap(I))->doesNotCapture(Arg);
}
int dsm_shim_call_returns_twice(LLVMValueRef I) {
  return cast<CallBase>(unwrap(I))->hasFnAttr(Attribute::ReturnsTwice);
}
int dsm_shim_call_must_tail(LLVMValueRef I) {
  auto *C = dyn_cast<CallInst>(unwrap(I));
  return C && C->isMustTailCall();
}
int dsm_shim_static_alloca(LLVMValueRef I) { return cast<AllocaInst>(unwrap(I))->isStaticAlloca(); }
int dsm_shim_alloca_special(LLVMValueRef I) {
  auto *A = cast<AllocaInst>(unwrap(I));
  return A->isUsedWithInAlloca() ? 1 : A->isSwiftError() ? 2 : 0;
}
int dsm_shim_single_thread_scope(LLVMValueRef I) {
  auto SSID = getAtomicSyncScopeID(cast<Instruction>(unwrap(I)));
  return SSID && *SSID == SyncScope::SingleThread;
}
// 0 for assembly without instructions (a barrier for the compiler), 2 if an operand is in memory, 1 otherwise.
int dsm_shim_asm_operands(LLVMValueRef I) {
  auto *C = cast<CallBase>(unwrap(I));
  auto *Asm = dyn_cast<InlineAsm>(C->getCalledOperand());
  if (!Asm || Asm->getAsmString().trim(" \t\n;").empty())
    return 0;
  for (const auto &Info : Asm->ParseConstraints())
    if (Info.isIndirect)
      return 2;
  return 1;
}
// 1 or 2 if the argument is where an operand lies, and not an operand itself; 2 if the assembly reads it.
int dsm_shim_asm_operand_in_memory(LLVMValueRef I, unsigned Index) {
  auto *C = cast<CallBase>(unwrap(I));
  auto *Asm = dyn_cast<InlineAsm>(C->getCalledOperand());
  if (!Asm)
    return 0;
  unsigned Argument = 0;
  for (const auto &Info : Asm->ParseConstraints())
    if (Info.hasArg() && Argument++ == Index)
      return !Info.isIndirect ? 0 : Info.Type == InlineAsm::isInput ? 2 : 1;
  return 0;
}
// The pointer that another is at a constant distance from.
LLVMValueRef dsm_shim_constant_offset(LLVMValueRef V, LLVMModuleRef M, int64_t *Offset) {
  APInt Sum(unwrap(M)->getDataLayout().getIndexTypeSizeInBits(unwrap(V)->getType()), 0);
  Value *Base = unwrap(V)->stripAndAccumulateConstantOffsets(unwrap(M)->getDataLayout(), Sum, true);
  *Offset = Sum.getSExtValue();
  return wrap(Base);
}
// Known alignment of the pointer value itself (argument attributes, globals, allocas).
uint64_t dsm_shim_pointer_align(LLVMValueRef V, LLVMModuleRef M) {
  return unwrap(V)->getPointerAlignment(unwrap(M)->getDataLayout()).value();
}

} // extern "C"
