// Loops that become nests of two.
#include "shim.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;
using namespace dsm;

namespace {

// The recurrence of a value in a loop, if it counts by one and both its start and its last value can be computed in front of it.
const SCEVAddRecExpr *counter(Analyses &An, Loop *L, Value *V) {
  auto *Recurrence = dyn_cast<SCEVAddRecExpr>(An.SE.getSCEV(V));
  if (!Recurrence || Recurrence->getLoop() != L || !Recurrence->isAffine() || !Recurrence->getOperand(1)->isOne())
    return nullptr;
  return Recurrence;
}

const SCEV *lastValue(Analyses &An, Loop *L, const SCEVAddRecExpr *Counter) {
  const SCEV *Count = An.SE.getBackedgeTakenCount(L);
  if (isa<SCEVCouldNotCompute>(Count))
    return nullptr;
  Type *Ty = Counter->getType();
  return An.SE.getAddExpr(Counter->getStart(), An.SE.getTruncateOrZeroExtend(Count, Ty));
}

} // namespace

extern "C" {

// 1 if the integer is known to be positive (or not negative) where the loop is entered.
int dsm_shim_is_positive(void *A, void *LoopPtr, LLVMValueRef V, int OrZero) {
  auto &An = analyses(A);
  const SCEV *S = An.SE.getSCEV(unwrap(V));
  if (OrZero ? An.SE.isKnownNonNegative(S) : An.SE.isKnownPositive(S))
    return 1;
  auto Predicate = OrZero ? CmpInst::ICMP_SGE : CmpInst::ICMP_SGT;
  return An.SE.isLoopEntryGuardedByCond(loop(LoopPtr), Predicate, S, An.SE.getZero(S->getType()));
}

// The start of a value that counts by one in a loop which can become a nest, or null.
const void *dsm_shim_counter_start(void *A, void *LoopPtr, LLVMValueRef V) {
  auto &An = analyses(A);
  Loop *L = loop(LoopPtr);
  BasicBlock *Latch = L->getLoopLatch();
  auto *Branch = Latch ? dyn_cast<BranchInst>(Latch->getTerminator()) : nullptr;
  if (!Branch || !Branch->isConditional() || L->getExitingBlock() != Latch || !L->getLoopPreheader() || !L->getUniqueExitBlock() ||
      !L->hasDedicatedExits())
    return nullptr;
  const SCEVAddRecExpr *Counter = counter(An, L, unwrap(V));
  const SCEV *Last = Counter ? lastValue(An, L, Counter) : nullptr;
  if (!Last)
    return nullptr;
  SCEVExpander Expander(An.SE, "dsm");
  Instruction *At = L->getLoopPreheader()->getTerminator();
  if (!Expander.isSafeToExpandAt(Counter->getStart(), At) || !Expander.isSafeToExpandAt(Last, At))
    return nullptr;
  return Counter->getStart();
}

// The value that an expression stands for, or null.
LLVMValueRef dsm_shim_unknown(const void *S) {
  auto *Unknown = dyn_cast<SCEVUnknown>(expr(S));
  return Unknown ? wrap(Unknown->getValue()) : nullptr;
}

// Makes a nest of a loop: the inner loop runs while the quotient of a counter and an invariant divisor is the same. Returns the quotient, which
// changes in the outer loop only, and sets Rest to the remainder, extended to 64 bits. The analyses do not hold afterwards.
LLVMValueRef dsm_shim_split_loop(void *A, void *LoopPtr, LLVMValueRef CounterRef, LLVMValueRef DivisorRef, int Signed,
                                 LLVMValueRef *RestOut) {
  auto &An = analyses(A);
  Loop *L = loop(LoopPtr);
  Value *Divisor = unwrap(DivisorRef);
  Type *Ty = Divisor->getType();
  BasicBlock *Before = L->getLoopPreheader(), *Header = L->getHeader(), *Latch = L->getLoopLatch(), *Exit = L->getUniqueExitBlock();
  const SCEVAddRecExpr *Counter = counter(An, L, unwrap(CounterRef));
  const SCEV *LastExpr = lastValue(An, L, Counter);
  SCEVExpander Expander(An.SE, "dsm");
  Value *First = Expander.expandCodeFor(Counter->getStart(), Ty, Before->getTerminator()->getIterator());
  Value *Last = Expander.expandCodeFor(LastExpr, Ty, Before->getTerminator()->getIterator());
  Function *F = Header->getParent();
  auto *Branch = cast<BranchInst>(Latch->getTerminator());
  DebugLoc Place = Branch->getDebugLoc();

  IRBuilder<> Builder(Before->getTerminator());
  Builder.SetCurrentDebugLocation(Place);
  auto quotient = [&](Value *V) { return Signed ? Builder.CreateSDiv(V, Divisor) : Builder.CreateUDiv(V, Divisor); };
  // Frozen, scalar evolution takes it as it is: quotients are nothing that may be computed again elsewhere.
  Value *FirstQuotient = Builder.CreateFreeze(quotient(First)), *LastQuotient = Builder.CreateFreeze(quotient(Last));

  auto *Outer = BasicBlock::Create(F->getContext(), Header->getName() + ".outer", F, Header);
  auto *OuterLatch = BasicBlock::Create(F->getContext(), Header->getName() + ".outer.latch", F, Exit);
  Builder.SetInsertPoint(Outer);
  PHINode *Quotient = Builder.CreatePHI(Ty, 2), *Begin = Builder.CreatePHI(Ty, 2);
  // What the inner loop goes on with.
  for (PHINode &Phi : Header->phis()) {
    PHINode *Carried = Builder.CreatePHI(Phi.getType(), 2);
    Carried->addIncoming(Phi.getIncomingValueForBlock(Before), Before);
    Carried->addIncoming(Phi.getIncomingValueForBlock(Latch), OuterLatch);
    int Index = Phi.getBasicBlockIndex(Before);
    Phi.setIncomingBlock(Index, Outer);
    Phi.setIncomingValue(Index, Carried);
  }
  Value *One = ConstantInt::get(Ty, 1);
  Value *Base = Builder.CreateMul(Quotient, Divisor);
  Value *Left = Builder.CreateSub(Last, Base), *Most = Builder.CreateSub(Divisor, One);
  Value *Row = Builder.CreateSelect(Builder.CreateICmpULT(Left, Most), Left, Most);
  Value *Position = Builder.CreateSub(Begin, Base);
  Type *Wide = Builder.getInt64Ty();
  Value *Steps = Builder.CreateZExt(Builder.CreateSub(Row, Position), Wide);
  Value *WidePosition = Builder.CreateZExt(Position, Wide);
  Value *Next = Builder.CreateAdd(Builder.CreateAdd(Base, Row), One);
  Builder.CreateBr(Header);
  Before->getTerminator()->replaceSuccessorWith(Header, Outer);

  Builder.SetInsertPoint(Header, Header->begin());
  PHINode *Step = Builder.CreatePHI(Wide, 2);
  Builder.SetInsertPoint(Header, Header->getFirstInsertionPt());
  Builder.SetCurrentDebugLocation(Place);
  Value *Rest = Builder.CreateAdd(WidePosition, Step, "", /*HasNUW=*/true, /*HasNSW=*/true);
  Builder.SetInsertPoint(Branch);
  Builder.SetCurrentDebugLocation(Place);
  Value *NextStep = Builder.CreateAdd(Step, Builder.getInt64(1), "", true, true);
  Step->addIncoming(Builder.getInt64(0), Outer);
  Step->addIncoming(NextStep, Latch);
  bool LeavesFirst = Branch->getSuccessor(0) == Exit;
  Value *Done = LeavesFirst ? Builder.CreateICmpEQ(Step, Steps) : Builder.CreateICmpNE(Step, Steps);
  Branch->setCondition(Done);
  Branch->setMetadata(LLVMContext::MD_prof, nullptr);
  Branch->replaceSuccessorWith(Exit, OuterLatch);
  Exit->replacePhiUsesWith(Latch, OuterLatch);

  Builder.SetInsertPoint(OuterLatch);
  Value *NextQuotient = Builder.CreateAdd(Quotient, One);
  Builder.CreateCondBr(Builder.CreateICmpEQ(Quotient, LastQuotient), Exit, Outer);
  Quotient->addIncoming(FirstQuotient, Before);
  Quotient->addIncoming(NextQuotient, OuterLatch);
  Begin->addIncoming(First, Before);
  Begin->addIncoming(Next, OuterLatch);
  *RestOut = wrap(Rest);
  return wrap(static_cast<Value *>(Quotient));
}

} // extern "C"
