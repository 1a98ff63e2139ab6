// Edits that the C API lacks.
#include "shim.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;
using namespace dsm;

extern "C" {

LLVMBasicBlockRef dsm_shim_split_before(LLVMValueRef InstRef) {
  auto *I = cast<Instruction>(unwrap(InstRef));
  return wrap(SplitBlock(I->getParent(), I->getIterator()));
}
// Changes what a comparison asks for.
void dsm_shim_set_predicate(LLVMValueRef CompareRef, LLVMIntPredicate Predicate) {
  auto *Compare = cast<ICmpInst>(unwrap(CompareRef));
  Compare->setSameSign(false);
  Compare->setPredicate(static_cast<ICmpInst::Predicate>(Predicate));
}
// States in front of an instruction that a comparison holds, or that it does not.
void dsm_shim_assume(void *ManagerPtr, LLVMValueRef CompareRef, int Holds, LLVMValueRef BeforeRef) {
  auto *Compare = cast<ICmpInst>(unwrap(CompareRef));
  auto *Before = cast<Instruction>(unwrap(BeforeRef));
  IRBuilder<> Builder(Before);
  Value *Stated = Compare;
  if (!Holds)
    Stated = Builder.CreateICmp(Compare->getInversePredicate(), Compare->getOperand(0), Compare->getOperand(1));
  Function &F = *Before->getFunction();
  if (auto *Assume = dyn_cast<AssumeInst>(Builder.CreateAssumption(Stated)))
    manager(ManagerPtr, F).getResult<AssumptionAnalysis>(F).registerAssumption(Assume);
}
void dsm_shim_global_attribute(LLVMValueRef Global, const char *Key, size_t KeyLen, const char *Val,
                               size_t ValLen) {
  cast<GlobalVariable>(unwrap(Global))->addAttribute(StringRef(Key, KeyLen), StringRef(Val, ValLen));
}
void dsm_shim_move_before(LLVMValueRef InstRef, LLVMValueRef OtherRef) {
  cast<Instruction>(unwrap(InstRef))->moveBefore(cast<Instruction>(unwrap(OtherRef))->getIterator());
}
// Keeps the compiler from dropping a global.
void dsm_shim_keep(LLVMModuleRef M, LLVMValueRef Global) {
  appendToCompilerUsed(*unwrap(M), cast<GlobalValue>(unwrap(Global)));
}
// Keeps the linker, too, from dropping or changing a global.
void dsm_shim_keep_linked(LLVMModuleRef M, LLVMValueRef Global) {
  appendToUsed(*unwrap(M), cast<GlobalValue>(unwrap(Global)));
}

} // extern "C"
