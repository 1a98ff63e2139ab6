// Copies of loops and functions: what they cost, and making them.
#include "shim.h"
#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;
using namespace dsm;

namespace {

bool isStackMark(Instruction &I) {
  auto *Call = dyn_cast<IntrinsicInst>(&I);
  return Call && (Call->getIntrinsicID() == Intrinsic::stacksave || Call->getIntrinsicID() == Intrinsic::stackrestore);
}

} // namespace

extern "C" {

// ---- loops ----

// The number of instructions of a loop that can be copied with those in it, or 0.
unsigned dsm_shim_loop_copy_cost(void *L) {
  unsigned Count = 0;
  if (!loop(L)->isSafeToClone() || !loop(L)->getLoopPreheader())
    return 0;
  for (BasicBlock *B : loop(L)->blocks()) {
    if (B->isEHPad())
      return 0;
    Count += B->sizeWithoutDebug();
    for (Instruction &I : *B)
      if (I.getType()->isTokenTy() || isa<AllocaInst>(I) || isStackMark(I))
        return 0;
  }
  for (BasicBlock *B : ArrayRef(loop(L)->getBlocks()))
    for (BasicBlock *Next : successors(B))
      if (!loop(L)->contains(Next) && Next->isEHPad())
        return 0;
  return Count;
}
// A block before an instruction that runs if the condition holds: returns the block's terminator.
LLVMValueRef dsm_shim_if_then(void *A, LLVMValueRef Condition, LLVMValueRef Before) {
  auto &An = analyses(A);
  DomTreeUpdater Updater(An.DT, DomTreeUpdater::UpdateStrategy::Eager);
  return wrap(SplitBlockAndInsertIfThen(unwrap(Condition), cast<Instruction>(unwrap(Before)), false, nullptr,
                                        &Updater, &An.LI));
}

// Copies a loop and those in it behind its preheader, which afterwards enters the loop itself if Condition holds and the copy
// if not. A rare copy is innermost and not transformed further. Returns the map from the loop to its copy.
void *dsm_shim_version_loop(void *A, void *LoopPtr, LLVMValueRef Condition, int Rare, LLVMValueRef *Branch) {
  auto &An = analyses(A);
  Loop *L = loop(LoopPtr);
  formLCSSARecursively(*L, An.DT, &An.LI, &An.SE);
  BasicBlock *Head = L->getLoopPreheader();
  BasicBlock *Entry = SplitEdge(Head, L->getHeader(), &An.DT, &An.LI);
  auto *Map = new ValueToValueMapTy;
  SmallVector<BasicBlock *, 8> Blocks;
  Loop *Copy = cloneLoopWithPreheader(Entry, Head, L, *Map, ".dsm", &An.LI, &An.DT, Blocks);
  remapInstructionsInBlocks(Blocks, *Map);
  auto copyOf = [&](Value *V) {
    auto It = Map->find(V);
    return It == Map->end() ? V : static_cast<Value *>(It->second);
  };
  SmallVector<BasicBlock *, 4> Exits;
  L->getUniqueExitBlocks(Exits);
  for (BasicBlock *Exit : Exits)
    for (PHINode &Phi : Exit->phis())
      for (unsigned I = 0, E = Phi.getNumIncomingValues(); I != E; ++I)
        if (L->contains(Phi.getIncomingBlock(I)))
          Phi.addIncoming(copyOf(Phi.getIncomingValue(I)), cast<BasicBlock>(copyOf(Phi.getIncomingBlock(I))));
  Instruction *Old = Head->getTerminator();
  auto *New = BranchInst::Create(Entry, cast<BasicBlock>(copyOf(Entry)), unwrap(Condition), Old->getIterator());
  New->setDebugLoc(Old->getDebugLoc());
  if (Rare)
    New->setMetadata(LLVMContext::MD_prof, MDBuilder(New->getContext()).createBranchWeights(1000, 1));
  Old->eraseFromParent();
  // What the loop alone dominated is reached through the copy too.
  SmallVector<DomTreeNode *, 8> Moved;
  for (BasicBlock *B : L->blocks())
    for (DomTreeNode *Child : An.DT.getNode(B)->children())
      if (!L->contains(Child->getBlock()))
        Moved.push_back(Child);
  for (DomTreeNode *Child : Moved)
    An.DT.changeImmediateDominator(Child, An.DT.getNode(Head));
  formDedicatedExitBlocks(L, &An.DT, &An.LI, nullptr, true);
  formDedicatedExitBlocks(Copy, &An.DT, &An.LI, nullptr, true);
  *Branch = wrap(New);
  if (!Rare)
    return Map;
  auto &C = New->getContext();
  auto flag = [&](const char *Name) { return MDNode::get(C, MDString::get(C, Name)); };
  MDNode *Done = MDNode::get(C, {MDString::get(C, "llvm.loop.isvectorized"),
                                 ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(C), 1))});
  Copy->setLoopID(makePostTransformationMetadata(
      C, Copy->getLoopID(), {"llvm.loop.vectorize.", "llvm.loop.interleave.", "llvm.loop.unroll."},
      {Done, flag("llvm.loop.unroll.disable")}));
  return Map;
}
LLVMValueRef dsm_shim_version_copy(void *Map, LLVMValueRef V) {
  auto &M = *static_cast<ValueToValueMapTy *>(Map);
  auto It = M.find(unwrap(V));
  return It == M.end() ? nullptr : wrap(static_cast<Value *>(It->second));
}
void dsm_shim_version_free(void *Map) { delete static_cast<ValueToValueMapTy *>(Map); }

// ---- functions ----

// The number of instructions of a function that can be copied, or 0.
unsigned dsm_shim_function_copy_cost(LLVMValueRef FunctionRef) {
  auto &F = *cast<Function>(unwrap(FunctionRef));
  if (F.isVarArg() || F.hasFnAttribute(Attribute::NoDuplicate) || F.hasOptNone())
    return 0;
  unsigned Count = 0;
  for (BasicBlock &B : F) {
    if (B.hasAddressTaken())
      return 0;
    Count += B.sizeWithoutDebug();
    for (Instruction &I : B)
      if (auto *C = dyn_cast<CallBase>(&I); C && (C->cannotDuplicate() || C->isMustTailCall()))
        return 0;
  }
  return Count;
}
LLVMValueRef dsm_shim_copy_function(LLVMValueRef FunctionRef, const char *Name, size_t Len) {
  ValueToValueMapTy Map;
  Function *Copy = CloneFunction(cast<Function>(unwrap(FunctionRef)), Map);
  Copy->setName(StringRef(Name, Len));
  Copy->setComdat(nullptr);
  Copy->setVisibility(GlobalValue::DefaultVisibility);
  Copy->setLinkage(GlobalValue::InternalLinkage);
  Copy->setDSOLocal(true);
  return wrap(Copy);
}

} // extern "C"
