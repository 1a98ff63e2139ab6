// Questions about natural loops.
#include "shim.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace dsm;

extern "C" {

void *dsm_shim_loop_of(void *A, LLVMBasicBlockRef B) {
  return analyses(A).LI.getLoopFor(unwrap(B));
}
void *dsm_shim_loop_parent(void *L) { return loop(L)->getParentLoop(); }
LLVMBasicBlockRef dsm_shim_loop_header(void *L) { return wrap(loop(L)->getHeader()); }
LLVMBasicBlockRef dsm_shim_loop_preheader(void *L) { return wrap(loop(L)->getLoopPreheader()); }
LLVMBasicBlockRef dsm_shim_loop_predecessor(void *L) { return wrap(loop(L)->getLoopPredecessor()); }
LLVMBasicBlockRef dsm_shim_loop_latch(void *L) { return wrap(loop(L)->getLoopLatch()); }
LLVMBasicBlockRef dsm_shim_loop_exiting(void *L) { return wrap(loop(L)->getExitingBlock()); }
int dsm_shim_loop_contains(void *L, LLVMBasicBlockRef B) { return loop(L)->contains(unwrap(B)); }

// Greatest number of times the back edge is taken, or null.
const void *dsm_shim_max_count(void *A, void *L) {
  const SCEV *S = analyses(A).SE.getSymbolicMaxBackedgeTakenCount(loop(L));
  return isa<SCEVCouldNotCompute>(S) ? nullptr : S;
}
// The exact number of times the back edge is taken, or null.
const void *dsm_shim_backedge_count(void *A, void *L) {
  const SCEV *S = analyses(A).SE.getBackedgeTakenCount(loop(L));
  return isa<SCEVCouldNotCompute>(S) ? nullptr : S;
}
// The exact number of times the back edge is taken before the loop is left from a block, or null.
const void *dsm_shim_exit_count(void *A, void *L, LLVMBasicBlockRef B) {
  const SCEV *S = analyses(A).SE.getExitCount(loop(L), unwrap(B));
  return isa<SCEVCouldNotCompute>(S) ? nullptr : S;
}

// Writes the instructions of a loop that may read what a store (or a call that sets or copies) in it stores to, in any iterations, to Out
// and returns their number. -1 if there are more than Max, or if control may not get from some instruction to the next (exceptions, exits).
int dsm_shim_loop_readers(void *A, void *L, LLVMValueRef StoreRef, LLVMValueRef *Out, unsigned Max) {
  auto &An = analyses(A);
  auto *Store = unwrap(StoreRef);
  auto Place = isa<StoreInst>(Store) ? MemoryLocation::get(cast<StoreInst>(Store))
                                     : MemoryLocation::getForDest(cast<AnyMemIntrinsic>(Store));
  Place = Place.getWithNewSize(LocationSize::beforeOrAfterPointer());
  // Scopes that are declared in the loop say nothing of two iterations.
  Place.AATags.Scope = Place.AATags.NoAlias = nullptr;
  BatchAAResults AA(An.AA);
  AA.enableCrossIterationMode();
  unsigned Count = 0;
  for (BasicBlock *B : loop(L)->blocks())
    for (Instruction &I : *B) {
      if (!isGuaranteedToTransferExecutionToSuccessor(&I))
        return -1;
      if (!I.mayReadFromMemory() || !isRefSet(AA.getModRefInfo(&I, Place)))
        continue;
      if (Count == Max)
        return -1;
      Out[Count++] = wrap(&I);
    }
  return Count;
}

} // extern "C"
