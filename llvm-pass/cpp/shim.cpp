// What LLVM's C API lacks: function analyses, a few edits. Opaque handles, {pointer,
// length} strings, no exceptions, no C++ types across the boundary. Nothing is decided here but
// which conditions around loops can be restated (src/analysis/guards.rs says why that is sound).
#include "llvm-c/Core.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Support/CBindingWrapping.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace {

struct Analyses {
  DominatorTree &DT;
  LoopInfo &LI;
  ScalarEvolution &SE;
  AAResults &AA;
  const DataLayout &DL;
};

const SCEV *expr(const void *S) { return static_cast<const SCEV *>(S); }
Loop *loop(void *L) { return static_cast<Loop *>(L); }

// The constant part of an expression, found through sums and the starts of recurrences.
const SCEV *withoutConstant(ScalarEvolution &SE, const SCEV *S, APInt &Offset) {
  if (auto *Rec = dyn_cast<SCEVAddRecExpr>(S)) {
    const SCEV *Start = withoutConstant(SE, Rec->getStart(), Offset);
    if (Start == Rec->getStart())
      return S;
    SmallVector<const SCEV *, 4> Ops(Rec->operands());
    Ops[0] = Start;
    return SE.getAddRecExpr(Ops, Rec->getLoop(), SCEV::FlagAnyWrap);
  }
  if (auto *Add = dyn_cast<SCEVAddExpr>(S)) {
    SmallVector<const SCEV *, 8> Ops;
    for (const SCEV *Op : Add->operands()) {
      if (auto *C = dyn_cast<SCEVConstant>(Op)) {
        Offset += C->getAPInt().sextOrTrunc(64);
        continue;
      }
      Ops.push_back(isa<SCEVAddRecExpr>(Op) ? withoutConstant(SE, Op, Offset) : Op);
    }
    return SE.getAddExpr(Ops);
  }
  if (auto *C = dyn_cast<SCEVConstant>(S)) {
    Offset += C->getAPInt().sextOrTrunc(64);
    return SE.getZero(C->getType());
  }
  return S;
}

// A division by what may be zero cannot be computed anywhere but where the program does it.
bool isOpenQuotient(const SCEV *S) {
  auto *Quotient = dyn_cast<SCEVUDivExpr>(S);
  return Quotient && !isa<SCEVConstant>(Quotient->getRHS());
}

struct Quotients : SCEVRewriteVisitor<Quotients> {
  DenseMap<const SCEV *, const SCEV *> Known;
  explicit Quotients(ScalarEvolution &SE) : SCEVRewriteVisitor(SE) {}
  const SCEV *visitUDivExpr(const SCEVUDivExpr *S) {
    auto It = Known.find(S);
    return It == Known.end() ? SCEVRewriteVisitor::visitUDivExpr(S) : It->second;
  }
  void add(Instruction *Quotient) {
    if (!SE.isSCEVable(Quotient->getType()) || !isOpenQuotient(SE.getSCEV(Quotient)))
      return;
    const SCEV *Plain = SE.getSCEV(Quotient), *Value = SE.getUnknown(Quotient);
    Known.try_emplace(Plain, Value);
    // Scalar evolution turns the wider quotient into a quotient of wider operands.
    Type *Wide = Type::getInt64Ty(SE.getContext());
    if (SE.getTypeSizeInBits(Plain->getType()) < 64)
      Known.try_emplace(SE.getZeroExtendExpr(Plain, Wide), SE.getZeroExtendExpr(Value, Wide));
  }
};

// The expression of a value with the quotients in it that are computed on the way to it taken as they are: how the indices of collapsed
// loops are made. A remainder's quotient is looked for in its block.
const SCEV *overQuotients(ScalarEvolution &SE, Value *V) {
  const SCEV *Whole = SE.getSCEV(V);
  if (!SCEVExprContains(Whole, isOpenQuotient))
    return Whole;
  Quotients Rewriter(SE);
  SmallPtrSet<Value *, 16> Seen;
  SmallVector<Value *, 16> Work{V};
  while (!Work.empty() && Seen.size() < 64) {
    auto *I = dyn_cast<Instruction>(Work.pop_back_val());
    if (!I || isa<PHINode>(I) || !Seen.insert(I).second)
      continue;
    Instruction *Quotient = I->getOpcode() == Instruction::UDiv ? I : nullptr;
    if (I->getOpcode() == Instruction::URem)
      for (User *U : I->getOperand(0)->users())
        if (auto *D = dyn_cast<Instruction>(U); D && D->getOpcode() == Instruction::UDiv &&
                                                D->getParent() == I->getParent() &&
                                                D->getOperand(0) == I->getOperand(0) &&
                                                D->getOperand(1) == I->getOperand(1))
          Quotient = D;
    if (Quotient)
      Rewriter.add(Quotient);
    Work.append(I->op_begin(), I->op_end());
  }
  return Rewriter.visit(Whole);
}

bool isStackMark(Instruction &I) {
  auto *Call = dyn_cast<IntrinsicInst>(&I);
  return Call && (Call->getIntrinsicID() == Intrinsic::stacksave || Call->getIntrinsicID() == Intrinsic::stackrestore);
}

} // namespace

extern "C" {

// ---- function analyses ----

void *dsm_shim_analyses(void *ManagerPtr, LLVMValueRef FunctionRef) {
  auto &MAM = *static_cast<ModuleAnalysisManager *>(ManagerPtr);
  auto &F = *cast<Function>(unwrap(FunctionRef));
  auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(*F.getParent()).getManager();
  return new Analyses{FAM.getResult<DominatorTreeAnalysis>(F), FAM.getResult<LoopAnalysis>(F),
                      FAM.getResult<ScalarEvolutionAnalysis>(F), FAM.getResult<AAManager>(F), F.getDataLayout()};
}

void dsm_shim_analyses_free(void *A) { delete static_cast<Analyses *>(A); }

// Marks the recurrences of sign-extended values as free of signed overflow, before their extensions are asked for: scalar evolution
// remembers what it found out about an extension.
// Returns how many there are.
unsigned dsm_shim_linear(void *ManagerPtr, LLVMValueRef FunctionRef) {
  auto &MAM = *static_cast<ModuleAnalysisManager *>(ManagerPtr);
  auto &F = *cast<Function>(unwrap(FunctionRef));
  auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(*F.getParent()).getManager();
  PreservedAnalyses Kept = PreservedAnalyses::all();
  Kept.abandon<ScalarEvolutionAnalysis>();
  FAM.invalidate(F, Kept);
  auto &SE = FAM.getResult<ScalarEvolutionAnalysis>(F);
  auto &LI = FAM.getResult<LoopAnalysis>(F);
  unsigned Marked = 0;
  for (BasicBlock &B : F)
    for (Instruction &I : B)
      if (isa<SExtInst>(I) && LI.getLoopFor(&B) && SE.isSCEVable(I.getType()))
        if (auto *Rec = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(I.getOperand(0))); Rec && Rec->isAffine() && !Rec->hasNoSignedWrap()) {
          SE.setNoWrapFlags(const_cast<SCEVAddRecExpr *>(Rec), SCEV::FlagNSW);
          ++Marked;
        }
  return Marked;
}

void dsm_shim_invalidate(void *ManagerPtr, LLVMValueRef FunctionRef) {
  auto &MAM = *static_cast<ModuleAnalysisManager *>(ManagerPtr);
  auto &F = *cast<Function>(unwrap(FunctionRef));
  auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(*F.getParent()).getManager();
  FAM.invalidate(F, PreservedAnalyses::none());
}

// A key that is equal for addresses with a constant distance, and the offset from it.
const void *dsm_shim_address_key(void *A, LLVMValueRef Pointer, int64_t *Offset) {
  auto &SE = static_cast<Analyses *>(A)->SE;
  Value *P = unwrap(Pointer);
  if (!SE.isSCEVable(P->getType()))
    return nullptr;
  APInt Sum(64, 0);
  const SCEV *Key = withoutConstant(SE, SE.getSCEV(P), Sum);
  *Offset = Sum.getSExtValue();
  return Key;
}

// The same for an expression.
const void *dsm_shim_split_constant(void *A, const void *S, int64_t *Offset) {
  APInt Sum(64, 0);
  const SCEV *Key = withoutConstant(static_cast<Analyses *>(A)->SE, expr(S), Sum);
  *Offset = Sum.getSExtValue();
  return Key;
}

// ---- loops ----

void *dsm_shim_loop_of(void *A, LLVMBasicBlockRef B) {
  return static_cast<Analyses *>(A)->LI.getLoopFor(unwrap(B));
}
void *dsm_shim_loop_parent(void *L) { return loop(L)->getParentLoop(); }
LLVMBasicBlockRef dsm_shim_loop_header(void *L) { return wrap(loop(L)->getHeader()); }
LLVMBasicBlockRef dsm_shim_loop_preheader(void *L) { return wrap(loop(L)->getLoopPreheader()); }
LLVMBasicBlockRef dsm_shim_loop_latch(void *L) { return wrap(loop(L)->getLoopLatch()); }
LLVMBasicBlockRef dsm_shim_loop_exiting(void *L) { return wrap(loop(L)->getExitingBlock()); }
int dsm_shim_loop_contains(void *L, LLVMBasicBlockRef B) { return loop(L)->contains(unwrap(B)); }
int dsm_shim_dominates(void *A, LLVMBasicBlockRef X, LLVMBasicBlockRef Y) {
  return static_cast<Analyses *>(A)->DT.dominates(unwrap(X), unwrap(Y));
}

// Writes the instructions of a loop that may read what a store (or a call that sets or copies) in it stores to, in any iterations, to Out and returns their number. -1 if
// there are more than Max, or if control may not get from some instruction to the next (exceptions, exits).
int dsm_shim_loop_readers(void *A, void *L, LLVMValueRef StoreRef, LLVMValueRef *Out, unsigned Max) {
  auto *An = static_cast<Analyses *>(A);
  auto *Store = unwrap(StoreRef);
  auto Place = isa<StoreInst>(Store) ? MemoryLocation::get(cast<StoreInst>(Store))
                                     : MemoryLocation::getForDest(cast<AnyMemIntrinsic>(Store));
  Place = Place.getWithNewSize(LocationSize::beforeOrAfterPointer());
  // Scopes that are declared in the loop say nothing of two iterations.
  Place.AATags.Scope = Place.AATags.NoAlias = nullptr;
  BatchAAResults AA(An->AA);
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

// Makes the comparisons that end a loop ask for equality, where what counts up or down by one reaches its bound exactly when the loop ends.
// Returns how many there are.
unsigned dsm_shim_exact_exits(void *A, void *L) {
  auto *An = static_cast<Analyses *>(A);
  auto &SE = An->SE;
  SmallVector<BasicBlock *, 4> Exiting;
  loop(L)->getExitingBlocks(Exiting);
  unsigned Changed = 0;
  for (BasicBlock *B : Exiting) {
    auto *Branch = dyn_cast<BranchInst>(B->getTerminator());
    auto *Compare = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
    if (!Compare || Compare->isEquality() || !Compare->hasOneUse() || !Compare->getOperand(0)->getType()->isIntegerTy())
      continue;
    const SCEV *Left = SE.getSCEV(Compare->getOperand(0)), *Right = SE.getSCEV(Compare->getOperand(1));
    if (!isa<SCEVAddRecExpr>(Left))
      std::swap(Left, Right);
    auto *Rec = dyn_cast<SCEVAddRecExpr>(Left);
    if (!Rec || Rec->getLoop() != loop(L) || !Rec->isAffine() || !SE.isLoopInvariant(Right, loop(L)))
      continue;
    const SCEV *Step = Rec->getStepRecurrence(SE);
    const SCEV *Count = SE.getExitCount(loop(L), B);
    if (!(Step->isOne() || Step->isAllOnesValue()) || isa<SCEVCouldNotCompute>(Count) || Count->getType() != Rec->getType() ||
        Rec->evaluateAtIteration(Count, SE) != Right)
      continue;
    Compare->setSameSign(false);
    Compare->setPredicate(loop(L)->contains(Branch->getSuccessor(0)) ? ICmpInst::ICMP_NE : ICmpInst::ICMP_EQ);
    ++Changed;
  }
  return Changed;
}

// States the conditions under which a loop is entered as assumptions in front of it, up to Max of them, as far as they are seen on the way up: from
// blocks with one predecessor to that, from others to where the loop around them is entered. Returns how many there are.
unsigned dsm_shim_state_guards(void *ManagerPtr, void *L, unsigned Max) {
  BasicBlock *Front = loop(L)->getLoopPreheader();
  if (!Front)
    return 0;
  Function &F = *Front->getParent();
  auto &MAM = *static_cast<ModuleAnalysisManager *>(ManagerPtr);
  auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(*F.getParent()).getManager();
  auto &Known = FAM.getResult<AssumptionAnalysis>(F);
  auto &LI = FAM.getResult<LoopAnalysis>(F);
  unsigned Stated = 0, Steps = 0;
  for (BasicBlock *B = Front, *Up; Stated < Max && Steps < 16; B = Up, ++Steps) {
    Up = B->getSinglePredecessor();
    if (Loop *Around = Up ? nullptr : LI.getLoopFor(B)) {
      B = Around->getHeader();
      Up = Around->getLoopPredecessor();
    }
    if (!Up)
      break;
    auto *Branch = dyn_cast<BranchInst>(Up->getTerminator());
    auto *Compare = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
    // What ends a loop that is passed says little about the next.
    Loop *Passed = LI.getLoopFor(Up);
    // Where both edges lead here, none of them tells.
    if (!Compare || Branch->getSuccessor(0) == Branch->getSuccessor(1) || !Compare->getOperand(0)->getType()->isIntegerTy() ||
        (Passed && !Passed->contains(Front)))
      continue;
    IRBuilder<> Builder(Front->getTerminator());
    Value *Holds = Compare;
    if (Branch->getSuccessor(0) != B)
      Holds = Builder.CreateICmp(Compare->getInversePredicate(), Compare->getOperand(0), Compare->getOperand(1));
    if (auto *Assume = dyn_cast<AssumeInst>(Builder.CreateAssumption(Holds)))
      Known.registerAssumption(Assume);
    ++Stated;
  }
  return Stated;
}

// ---- scalar evolution: expressions are opaque and uniqued ----

// The expression of a value, over quotients that the program computes.
const void *dsm_shim_scev(void *A, LLVMValueRef V) {
  auto &SE = static_cast<Analyses *>(A)->SE;
  return SE.isSCEVable(unwrap(V)->getType()) ? overQuotients(SE, unwrap(V)) : nullptr;
}
// The exact number of times the back edge is taken, or null.
const void *dsm_shim_backedge_count(void *A, void *L) {
  const SCEV *S = static_cast<Analyses *>(A)->SE.getBackedgeTakenCount(loop(L));
  return isa<SCEVCouldNotCompute>(S) ? nullptr : S;
}
// 1 and {start, step} if S is an affine recurrence of exactly this loop.
int dsm_shim_recurrence(void *A, const void *S, void *L, const void **Start, const void **Step) {
  auto *Rec = dyn_cast<SCEVAddRecExpr>(expr(S));
  if (!Rec || Rec->getLoop() != loop(L) || !Rec->isAffine())
    return 0;
  *Start = Rec->getStart();
  *Step = Rec->getStepRecurrence(static_cast<Analyses *>(A)->SE);
  return 1;
}
// 1 if the recurrence's last value Start + Step * Count is that of the exact integers.
int dsm_shim_no_wrap(const void *S) {
  auto *Rec = dyn_cast<SCEVAddRecExpr>(expr(S));
  return Rec && Rec->hasNoSelfWrap();
}
int dsm_shim_invariant(void *A, const void *S, void *L) {
  return static_cast<Analyses *>(A)->SE.isLoopInvariant(expr(S), loop(L));
}
int dsm_shim_constant(const void *S, int64_t *Out) {
  auto *C = dyn_cast<SCEVConstant>(expr(S));
  if (!C || C->getAPInt().getSignificantBits() > 64)
    return 0;
  *Out = C->getAPInt().getSExtValue();
  return 1;
}
const void *dsm_shim_scev_constant(void *A, LLVMContextRef C, int64_t V) {
  return static_cast<Analyses *>(A)->SE.getConstant(Type::getInt64Ty(*unwrap(C)), V, true);
}
const void *dsm_shim_scev_add(void *A, const void *X, const void *Y) {
  return static_cast<Analyses *>(A)->SE.getAddExpr(expr(X), expr(Y));
}
const void *dsm_shim_scev_mul(void *A, const void *X, const void *Y) {
  return static_cast<Analyses *>(A)->SE.getMulExpr(expr(X), expr(Y));
}
// An unsigned count as i64; null if it is wider.
const void *dsm_shim_scev_zext64(void *A, const void *S) {
  auto &SE = static_cast<Analyses *>(A)->SE;
  if (!S || SE.getTypeSizeInBits(expr(S)->getType()) > 64)
    return nullptr;
  return SE.getNoopOrZeroExtend(expr(S), Type::getInt64Ty(SE.getContext()));
}
// A new expander for one function; values it makes are reused by later expansions.
void *dsm_shim_expander(void *A) {
  auto *An = static_cast<Analyses *>(A);
  auto *E = new SCEVExpander(An->SE, "dsm", false);
  return E;
}
void dsm_shim_expander_free(void *E) { delete static_cast<SCEVExpander *>(E); }
int dsm_shim_safe_to_expand(void *E, const void *S, LLVMValueRef At) {
  return static_cast<SCEVExpander *>(E)->isSafeToExpandAt(expr(S), cast<Instruction>(unwrap(At)));
}
LLVMValueRef dsm_shim_expand(void *E, const void *S, LLVMValueRef At) {
  return wrap(static_cast<SCEVExpander *>(E)->expandCodeFor(
      expr(S), expr(S)->getType(), cast<Instruction>(unwrap(At))->getIterator()));
}
size_t dsm_shim_scev_text(const void *S, char *Out, size_t Size) {
  std::string Text;
  raw_string_ostream Stream(Text);
  Stream << *expr(S);
  size_t N = std::min(Size, Text.size());
  memcpy(Out, Text.data(), N);
  return N;
}

// ---- versioned loops ----

// Greatest number of times the back edge is taken, or null.
const void *dsm_shim_max_count(void *A, void *L) {
  const SCEV *S = static_cast<Analyses *>(A)->SE.getSymbolicMaxBackedgeTakenCount(loop(L));
  return isa<SCEVCouldNotCompute>(S) ? nullptr : S;
}
// The pointer that an address is computed from, or null.
LLVMValueRef dsm_shim_pointer_base(void *A, LLVMValueRef Pointer) {
  auto &SE = static_cast<Analyses *>(A)->SE;
  if (!SE.isSCEVable(unwrap(Pointer)->getType()))
    return nullptr;
  auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(SE.getSCEV(unwrap(Pointer))));
  return Base ? wrap(Base->getValue()) : nullptr;
}
// The number of instructions of an innermost loop that can be copied, or 0.
unsigned dsm_shim_loop_copy_cost(void *L) {
  unsigned Count = 0;
  if (!loop(L)->isInnermost() || !loop(L)->isSafeToClone() || !loop(L)->getLoopPreheader())
    return 0;
  for (BasicBlock *B : loop(L)->blocks()) {
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
  auto *An = static_cast<Analyses *>(A);
  DomTreeUpdater Updater(An->DT, DomTreeUpdater::UpdateStrategy::Eager);
  return wrap(SplitBlockAndInsertIfThen(unwrap(Condition), cast<Instruction>(unwrap(Before)), false, nullptr,
                                        &Updater, &An->LI));
}

// Copies an innermost loop behind its preheader, which afterwards enters the loop itself if Condition holds and the copy
// if not. The copy is not transformed further. Returns the map from the loop to its copy.
void *dsm_shim_version_loop(void *A, void *LoopPtr, LLVMValueRef Condition, LLVMValueRef *Branch) {
  auto *An = static_cast<Analyses *>(A);
  Loop *L = loop(LoopPtr);
  formLCSSA(*L, An->DT, &An->LI, &An->SE);
  BasicBlock *Head = L->getLoopPreheader();
  BasicBlock *Entry = SplitEdge(Head, L->getHeader(), &An->DT, &An->LI);
  auto *Map = new ValueToValueMapTy;
  SmallVector<BasicBlock *, 8> Blocks;
  Loop *Copy = cloneLoopWithPreheader(Entry, Head, L, *Map, ".dsm", &An->LI, &An->DT, Blocks);
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
  New->setMetadata(LLVMContext::MD_prof, MDBuilder(New->getContext()).createBranchWeights(1000, 1));
  Old->eraseFromParent();
  // What the loop alone dominated is reached through the copy too.
  SmallVector<DomTreeNode *, 8> Moved;
  for (BasicBlock *B : L->blocks())
    for (DomTreeNode *Child : An->DT.getNode(B)->children())
      if (!L->contains(Child->getBlock()))
        Moved.push_back(Child);
  for (DomTreeNode *Child : Moved)
    An->DT.changeImmediateDominator(Child, An->DT.getNode(Head));
  formDedicatedExitBlocks(L, &An->DT, &An->LI, nullptr, true);
  formDedicatedExitBlocks(Copy, &An->DT, &An->LI, nullptr, true);
  auto &C = New->getContext();
  auto flag = [&](const char *Name) { return MDNode::get(C, MDString::get(C, Name)); };
  MDNode *Done = MDNode::get(C, {MDString::get(C, "llvm.loop.isvectorized"),
                                 ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(C), 1))});
  Copy->setLoopID(makePostTransformationMetadata(
      C, Copy->getLoopID(), {"llvm.loop.vectorize.", "llvm.loop.interleave.", "llvm.loop.unroll."},
      {Done, flag("llvm.loop.unroll.disable")}));
  *Branch = wrap(New);
  return Map;
}
LLVMValueRef dsm_shim_version_copy(void *Map, LLVMValueRef V) {
  auto &M = *static_cast<ValueToValueMapTy *>(Map);
  auto It = M.find(unwrap(V));
  return It == M.end() ? nullptr : wrap(static_cast<Value *>(It->second));
}
void dsm_shim_version_free(void *Map) { delete static_cast<ValueToValueMapTy *>(Map); }

// ---- edits ----

LLVMBasicBlockRef dsm_shim_split_before(LLVMValueRef InstRef) {
  auto *I = cast<Instruction>(unwrap(InstRef));
  return wrap(SplitBlock(I->getParent(), I->getIterator()));
}
LLVMBasicBlockRef dsm_shim_split_edge(LLVMBasicBlockRef From, LLVMBasicBlockRef To) {
  return wrap(SplitEdge(unwrap(From), unwrap(To)));
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

// ---- questions about instructions ----

int dsm_shim_may_write(LLVMValueRef I) { return cast<Instruction>(unwrap(I))->mayWriteToMemory(); }
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
// 1 if the argument is where an operand lies, and not an operand itself.
int dsm_shim_asm_operand_in_memory(LLVMValueRef I, unsigned Index) {
  auto *C = cast<CallBase>(unwrap(I));
  auto *Asm = dyn_cast<InlineAsm>(C->getCalledOperand());
  if (!Asm)
    return 0;
  unsigned Argument = 0;
  for (const auto &Info : Asm->ParseConstraints())
    if (Info.hasArg() && Argument++ == Index)
      return Info.isIndirect;
  return 0;
}
// The pointer that another is at a constant distance from.
LLVMValueRef dsm_shim_constant_offset(LLVMValueRef V, LLVMModuleRef M, int64_t *Offset) {
  APInt Sum(unwrap(M)->getDataLayout().getIndexTypeSizeInBits(unwrap(V)->getType()), 0);
  Value *Base = unwrap(V)->stripAndAccumulateConstantOffsets(unwrap(M)->getDataLayout(), Sum, true);
  *Offset = Sum.getSExtValue();
  return wrap(Base);
}
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
// Known alignment of the pointer value itself (argument attributes, globals, allocas).
uint64_t dsm_shim_pointer_align(LLVMValueRef V, LLVMModuleRef M) {
  return unwrap(V)->getPointerAlignment(unwrap(M)->getDataLayout()).value();
}

// ---- messages in the compiler's own form ----

void dsm_shim_diagnose(LLVMValueRef FunctionRef, LLVMValueRef InstRef, int Severity, const char *Text,
                       size_t Len) {
  auto &F = *cast<Function>(unwrap(FunctionRef));
  DiagnosticLocation Place;
  if (auto *I = InstRef ? cast<Instruction>(unwrap(InstRef)) : nullptr; I && I->getDebugLoc())
    Place = DiagnosticLocation(I->getDebugLoc());
  else if (auto *Subprogram = F.getSubprogram())
    Place = DiagnosticLocation(Subprogram);
  auto Kind = Severity == 0 ? DS_Error : Severity == 1 ? DS_Warning : DS_Remark;
  std::string Message(Text, Len);
  if (Place.isValid())
    return F.getContext().diagnose(DiagnosticInfoGenericWithLoc(Message, F, Place, Kind));
  // Without debug information the function is all that can be named.
  std::string Where = F.getParent()->getSourceFileName() + ": in `" + demangle(F.getName()) + "': ";
  F.getContext().diagnose(DiagnosticInfoGeneric(Where + Message, Kind));
}
void dsm_shim_module_diagnose(LLVMModuleRef M, int Severity, const char *Text, size_t Len) {
  std::string Message(Text, Len);
  auto Kind = Severity == 0 ? DS_Error : Severity == 1 ? DS_Warning : DS_Remark;
  unwrap(M)->getContext().diagnose(DiagnosticInfoGeneric(Message, Kind));
}
void dsm_shim_loop_remark(void *L, const char *Name, size_t NameLen, const char *Text, size_t Len) {
  std::string Title(Name, NameLen);
  BasicBlock *Header = loop(L)->getHeader();
  OptimizationRemarkEmitter ORE(Header->getParent());
  ORE.emit([&] {
    return OptimizationRemark("dsm", Title, loop(L)->getStartLoc(), Header) << StringRef(Text, Len);
  });
}
void dsm_shim_remark(LLVMValueRef InstRef, int Missed, const char *Name, size_t NameLen, const char *Text,
                     size_t Len) {
  auto *I = cast<Instruction>(unwrap(InstRef));
  std::string Title(Name, NameLen);
  OptimizationRemarkEmitter ORE(I->getFunction());
  if (Missed)
    ORE.emit([&] { return OptimizationRemarkMissed("dsm", Title, I) << StringRef(Text, Len); });
  else
    ORE.emit([&] { return OptimizationRemark("dsm", Title, I) << StringRef(Text, Len); });
}
}
