// Edits that the C API lacks.
#include "shim.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ReplaceConstant.h"
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
// Lets instructions have a thread-local variable's address from the intrinsic only. Front ends use the variable itself where they initialise it.
void dsm_shim_thread_local_by_intrinsic(LLVMValueRef G) {
  auto *Variable = unwrap<GlobalVariable>(G);
  convertUsersOfConstantsToInstructions({Variable});
  SmallVector<Use *> Direct;
  for (Use &U : Variable->uses()) {
    auto *Call = dyn_cast<IntrinsicInst>(U.getUser());
    if (isa<Instruction>(U.getUser()) && !(Call && Call->getIntrinsicID() == Intrinsic::threadlocal_address))
      Direct.push_back(&U);
  }
  // A phi has one value for all edges from a block.
  DenseMap<std::pair<PHINode *, BasicBlock *>, Value *> OnEdges;
  for (Use *U : Direct) {
    auto *I = cast<Instruction>(U->getUser());
    auto *Phi = dyn_cast<PHINode>(I);
    BasicBlock *From = Phi ? Phi->getIncomingBlock(*U) : nullptr;
    Value *Known = Phi ? OnEdges.lookup({Phi, From}) : nullptr;
    if (!Known) {
      IRBuilder<> Builder(Phi ? From->getTerminator() : I);
      Known = Builder.CreateThreadLocalAddress(Variable);
    }
    if (Phi)
      OnEdges[{Phi, From}] = Known;
    U->set(Known);
  }
}

} // extern "C"
