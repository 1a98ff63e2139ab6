// Questions about natural loops.
#include "shim.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace dsm;

namespace {

// The last load in front of a loop of what a load in it loads; null if none is on every way to the loop.
LoadInst *loadedBefore(Analyses &An, const Loop *L, LoadInst *Inside) {
  Instruction *Front = L->getLoopPreheader()->getTerminator();
  LoadInst *Last = nullptr;
  // A null pointer does not know its users.
  if (isa<ConstantData>(Inside->getPointerOperand()))
    return nullptr;
  for (User *U : Inside->getPointerOperand()->users()) {
    auto *Load = dyn_cast<LoadInst>(U);
    if (Load && Load->getType() == Inside->getType() && Load->getFunction() == Inside->getFunction() && !L->contains(Load) &&
        An.DT.dominates(Load, Front) && (!Last || An.DT.dominates(Last, Load)))
      Last = Load;
  }
  return Last;
}

// An expression with what was loaded in front of a loop in the place of what the loop loads again from the same addresses. Null if it changes in the loop for
// another reason, or does not change.
const SCEV *asLoadedBefore(Analyses &An, const Loop *L, const SCEV *S) {
  ValueToSCEVMapTy Known;
  bool Failed = SCEVExprContains(S, [&](const SCEV *Part) {
    auto *Opaque = dyn_cast<SCEVUnknown>(Part);
    if (!Opaque)
      return isa<SCEVAddRecExpr>(Part) && !An.SE.isLoopInvariant(Part, L);
    auto *I = dyn_cast<Instruction>(Opaque->getValue());
    if (!I || !L->contains(I))
      return false;
    auto *Load = dyn_cast<LoadInst>(I);
    LoadInst *Before = Load && Load->isSimple() ? loadedBefore(An, L, Load) : nullptr;
    if (Before)
      Known[Load] = An.SE.getSCEV(Before);
    return !Before;
  });
  return Failed || Known.empty() ? nullptr : SCEVParameterRewriter::rewrite(S, An.SE, Known);
}

// How far a number is from another one, if the program computes one of them from the other by an addition or a subtraction without overflow; null if it does not. The result is exact as a signed number.
const SCEV *signedDistance(ScalarEvolution &SE, Value *From, Value *To) {
  auto is = [&](Value *V, const SCEV *S) { return SE.getSCEV(V) == S; };
  if (auto *Sum = dyn_cast<OverflowingBinaryOperator>(To); Sum && Sum->hasNoSignedWrap() && Sum->getOpcode() == Instruction::Add)
    for (unsigned Part : {0u, 1u})
      if (is(Sum->getOperand(Part), SE.getSCEV(From)))
        return SE.getSCEV(Sum->getOperand(1 - Part));
  auto *Difference = dyn_cast<OverflowingBinaryOperator>(From);
  if (Difference && Difference->hasNoSignedWrap() && Difference->getOpcode() == Instruction::Sub && is(Difference->getOperand(0), SE.getSCEV(To)))
    return SE.getSCEV(Difference->getOperand(1));
  // Both in a wider type.
  auto *Wide = dyn_cast<SExtInst>(To);
  auto *Sum = Wide ? dyn_cast<OverflowingBinaryOperator>(Wide->getOperand(0)) : nullptr;
  if (Sum && Sum->hasNoSignedWrap() && Sum->getOpcode() == Instruction::Add)
    for (unsigned Part : {0u, 1u})
      if (is(From, SE.getSignExtendExpr(SE.getSCEV(Sum->getOperand(Part)), Wide->getType())))
        return SE.getSignExtendExpr(SE.getSCEV(Sum->getOperand(1 - Part)), Wide->getType());
  return nullptr;
}

} // namespace

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
// The exact number of times the back edge is taken, of a loop that counts up by one, without overflow, from a number to another one that lies a distance behind it, see signedDistance: in terms of that distance. Null of
// other loops. Where one of these operations overflows, comparing the result is undefined behaviour.
const void *dsm_shim_distance_count(void *A, void *LoopPtr) {
  auto &SE = analyses(A).SE;
  Loop *L = loop(LoopPtr);
  BasicBlock *Latch = L->getLoopLatch(), *Preheader = L->getLoopPreheader();
  if (!Latch || Latch != L->getExitingBlock() || !Preheader)
    return nullptr;
  auto *Branch = dyn_cast<BranchInst>(Latch->getTerminator());
  auto *Compare = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
  if (!Compare || !Compare->getOperand(0)->getType()->isIntegerTy())
    return nullptr;
  for (unsigned Side : {0u, 1u}) {
    // The counter is compared, or that of the next iteration.
    Value *Compared = Compare->getOperand(Side);
    auto *Phi = dyn_cast<PHINode>(Compared);
    bool IsNext = !Phi || Phi->getParent() != L->getHeader();
    auto *Next = dyn_cast<OverflowingBinaryOperator>(IsNext ? Compared : Phi->getIncomingValueForBlock(Latch));
    auto *Counter = Next && Next->hasNoSignedWrap() && Next->getOpcode() == Instruction::Add ? dyn_cast<PHINode>(Next->getOperand(0)) : nullptr;
    auto *Step = Counter ? dyn_cast<ConstantInt>(Next->getOperand(1)) : nullptr;
    if (!Step || !Step->isOne() || Counter->getParent() != L->getHeader() || Counter->getIncomingValueForBlock(Latch) != Next ||
        (!IsNext && Counter != Phi))
      continue;
    Value *Bound = Compare->getOperand(1 - Side);
    auto Stays = Side == 0 ? Compare->getPredicate() : Compare->getSwappedPredicate();
    if (!L->contains(Branch->getSuccessor(0)))
      Stays = ICmpInst::getInversePredicate(Stays);
    bool IsLess = Stays == ICmpInst::ICMP_SLT;
    if ((!IsLess && (Stays != ICmpInst::ICMP_SLE || !IsNext)) || !L->isLoopInvariant(Bound))
      continue;
    const SCEV *Distance = signedDistance(SE, Counter->getIncomingValueForBlock(Preheader), Bound);
    if (!Distance)
      continue;
    // For k = 0, 1, ...: first + k + 1 < first + distance; or the same with <=, which is first + k < first + distance.
    const SCEV *One = SE.getOne(Distance->getType());
    return IsNext && IsLess ? SE.getMinusSCEV(SE.getSMaxExpr(Distance, One), One)
                            : SE.getSMaxExpr(Distance, SE.getZero(Distance->getType()));
  }
  return nullptr;
}
// The exact number of times the back edge is taken before the loop is left from a block, or null.
const void *dsm_shim_exit_count(void *A, void *L, LLVMBasicBlockRef B) {
  const SCEV *S = analyses(A).SE.getExitCount(loop(L), unwrap(B));
  return isa<SCEVCouldNotCompute>(S) ? nullptr : S;
}

// How far the counter of a loop has to go, in 64 bits, from what its only exit compares first to a bound that the loop loads again in each iteration, if the bound stays what it was when it was
// last loaded in front of the loop; and the counter's step. Null if the loop does not end so.
const void *dsm_shim_expected_distance(void *A, void *LoopPtr, int64_t *Step) {
  auto &An = analyses(A);
  auto &SE = An.SE;
  Loop *L = loop(LoopPtr);
  BasicBlock *Latch = L->getLoopLatch();
  if (!Latch || Latch != L->getExitingBlock() || !L->getLoopPreheader())
    return nullptr;
  auto *Branch = dyn_cast<BranchInst>(Latch->getTerminator());
  auto *Compare = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
  Type *Ty = Compare ? Compare->getOperand(0)->getType() : nullptr, *Wide = Type::getInt64Ty(SE.getContext());
  if (!Ty || !Ty->isIntegerTy() || Ty->getIntegerBitWidth() > 64)
    return nullptr;
  for (unsigned Side : {0u, 1u}) {
    auto *Counter = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(Compare->getOperand(Side)));
    auto *Constant = Counter && Counter->getLoop() == L && Counter->isAffine()
                         ? dyn_cast<SCEVConstant>(Counter->getStepRecurrence(SE))
                         : nullptr;
    if (!Constant || Constant->isZero())
      continue;
    auto Stays = Side == 0 ? Compare->getPredicate() : Compare->getSwappedPredicate();
    if (!L->contains(Branch->getSuccessor(0)))
      Stays = ICmpInst::getInversePredicate(Stays);
    bool Up = Constant->getAPInt().isStrictlyPositive();
    bool Ends = Stays == ICmpInst::ICMP_NE || (Up ? ICmpInst::isLT(Stays) || ICmpInst::isLE(Stays) : ICmpInst::isGT(Stays) || ICmpInst::isGE(Stays));
    const SCEV *Bound = Ends ? asLoadedBefore(An, L, SE.getSCEV(Compare->getOperand(1 - Side))) : nullptr;
    if (!Bound)
      continue;
    bool Unsigned = ICmpInst::isUnsigned(Stays);
    auto widened = [&](const SCEV *S) { return Unsigned ? SE.getNoopOrZeroExtend(S, Wide) : SE.getNoopOrSignExtend(S, Wide); };
    const SCEV *Distance = SE.getMinusSCEV(widened(Bound), widened(Counter->getStart()));
    if (!ICmpInst::isStrictPredicate(Stays) && Stays != ICmpInst::ICMP_NE)
      Distance = SE.getAddExpr(Distance, SE.getConstant(Wide, Up ? 1 : -1, true));
    *Step = Constant->getAPInt().getSExtValue();
    return Distance;
  }
  return nullptr;
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
