// Expressions of scalar evolution: opaque and uniqued.
#include "shim.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;
using namespace dsm;

namespace {

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
    // Numbers do not know their users.
    if (I->getOpcode() == Instruction::URem && !isa<ConstantData>(I->getOperand(0)))
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

// An address that the program computes as an integer, as that integer: scalar evolution knows nothing of a pointer that is made of one. The pointer that
// the integer is made of stays in the expression, as an operand that is converted.
const SCEV *ofInteger(ScalarEvolution &SE, const SCEV *Address) {
  auto *Base = Address->getType()->isPointerTy() ? dyn_cast<SCEVUnknown>(SE.getPointerBase(Address)) : nullptr;
  auto *Made = Base ? dyn_cast<IntToPtrInst>(Base->getValue()) : nullptr;
  if (!Made || !Made->getOperand(0)->getType()->isIntegerTy(64))
    return Address;
  return SE.getAddExpr(overQuotients(SE, Made->getOperand(0)), SE.removePointerBase(Address));
}

// What is known of a number of iterations.
enum class Counted {
  // It is the whole number, of any width.
  Exactly,
  // The same, or it is the lower bits of a wider one that is 0.
  Narrowed,
  // Most iterations that a worksharing construct distributes: the compiler computes it without overflow.
  ByConstruct,
};

// Whether Low + Step * X, with X between 0 and Most without a sign, is exact as a signed number. The loop's entry has to tell that the
// distance from the first number to the last is one between two signed numbers in this order.
bool staysSigned(ScalarEvolution &SE, const Loop *L, const SCEV *Low, const APInt &Step, const SCEV *Most, Counted How) {
  Type *Ty = Low->getType();
  const SCEV *One = SE.getOne(Ty);
  APInt Size = Step.abs();
  const SCEV *Distance = SE.getAddExpr(Most, One);
  if (!SE.isAvailableAtLoopEntry(Low, L) || !SE.isAvailableAtLoopEntry(Distance, L))
    return false;
  bool LessOnly = How == Counted::Narrowed;
  // A loop whose exit is at its end runs once at least. That the first number is less than the one behind the last says as much.
  if (auto *Greatest = dyn_cast<SCEVUMaxExpr>(Distance);
      Greatest && Greatest->getNumOperands() == 2 && Greatest->getOperand(0)->isOne()) {
    Distance = Greatest->getOperand(1);
    LessOnly = true;
  }
  if (!Size.isOne()) {
    // The number of iterations is (distance + size - 1) / size.
    auto *Count = dyn_cast<SCEVUDivExpr>(Distance);
    auto *Divisor = Count ? dyn_cast<SCEVConstant>(Count->getRHS()) : nullptr;
    if (!Divisor || Divisor->getAPInt() != Size)
      return false;
    const SCEV *Rounded = Count->getLHS(), *Slack = SE.getConstant(Size - 1);
    // If that sum wraps, the number is 0.
    if (How != Counted::ByConstruct) {
      if (!SE.isLoopEntryGuardedByCond(L, ICmpInst::ICMP_UGT, Rounded, Slack))
        return false;
      LessOnly = false;
    }
    Distance = SE.getMinusSCEV(Rounded, Slack);
  }
  bool Up = Step.isStrictlyPositive();
  const SCEV *Behind = Up ? SE.getAddExpr(Low, Distance) : SE.getMinusSCEV(Low, Distance);
  const SCEV *End = Up ? SE.getMinusSCEV(Behind, One) : SE.getAddExpr(Behind, One);
  auto Less = Up ? ICmpInst::ICMP_SLT : ICmpInst::ICMP_SGT, NotMore = Up ? ICmpInst::ICMP_SLE : ICmpInst::ICMP_SGE;
  return SE.isLoopEntryGuardedByCond(L, Less, Low, Behind) ||
         (!LessOnly && SE.isLoopEntryGuardedByCond(L, NotMore, Low, End));
}

// An unsigned number in a type; null if it may be too large for it.
const SCEV *unsignedAs(ScalarEvolution &SE, const SCEV *S, Type *Ty) {
  if (SE.getTypeSizeInBits(S->getType()) <= SE.getTypeSizeInBits(Ty))
    return SE.getNoopOrZeroExtend(S, Ty);
  if (auto *Wide = dyn_cast<SCEVZeroExtendExpr>(S))
    return unsignedAs(SE, Wide->getOperand(), Ty);
  // Scalar evolution divides wide numbers where the program extends a quotient.
  if (auto *Quotient = dyn_cast<SCEVUDivExpr>(S)) {
    const SCEV *Dividend = unsignedAs(SE, Quotient->getLHS(), Ty), *Divisor = unsignedAs(SE, Quotient->getRHS(), Ty);
    return Dividend && Divisor ? SE.getUDivExpr(Dividend, Divisor) : nullptr;
  }
  if (auto *Constant = dyn_cast<SCEVConstant>(S); Constant && Constant->getAPInt().isIntN(SE.getTypeSizeInBits(Ty)))
    return SE.getTruncateExpr(S, Ty);
  return nullptr;
}

// The variable that a bound was loaded from, if the OpenMP runtime stores bounds there: the lower (0) or the upper (1) of a part of a loop.
AllocaInst *runtimeBound(Value *V, unsigned Which) {
  auto *Load = dyn_cast<LoadInst>(V);
  auto *Bound = Load ? dyn_cast<AllocaInst>(Load->getPointerOperand()) : nullptr;
  if (!Bound)
    return nullptr;
  bool Found = false;
  for (User *U : Bound->users()) {
    auto *Call = dyn_cast<CallBase>(U);
    if (isa<LoadInst>(U) || (Call && Call->isLifetimeStartOrEnd()))
      continue;
    if (auto *Store = dyn_cast<StoreInst>(U); Store && Store->getValueOperand() != Bound)
      continue;
    Function *Called = Call ? Call->getCalledFunction() : nullptr;
    StringRef Name = Called ? Called->getName() : "";
    unsigned Lower = Name.starts_with("__kmpc_for_static_init_4") ? 4 : Name.starts_with("__kmpc_dispatch_next_4") ? 3 : 0;
    if (!Lower || Call->getArgOperand(Lower + Which) != Bound)
      return nullptr;
    Found = true;
  }
  return Found ? Bound : nullptr;
}

// Whether a counter begins where the runtime says that a thread's iterations begin.
bool beginsWithBound(const SCEV *First) {
  if (auto *Wide = dyn_cast<SCEVZeroExtendExpr>(First))
    First = Wide->getOperand();
  auto *Opaque = dyn_cast<SCEVUnknown>(First);
  return Opaque && runtimeBound(Opaque->getValue(), 0);
}

// The number that the program has told the runtime as the upper bound of a loop, of the bound of a part that the runtime has handed out. Null of
// other loads.
Value *dispatchedLast(DominatorTree &DT, Value *V) {
  AllocaInst *Bound = runtimeBound(V, 1);
  StoreInst *Told = nullptr;
  if (!Bound)
    return nullptr;
  for (User *U : Bound->users())
    if (auto *Store = dyn_cast<StoreInst>(U)) {
      if (Told)
        return nullptr;
      Told = Store;
    }
  Value *Last = Told ? Told->getValueOperand() : nullptr;
  if (!Last || isa<Constant>(Last) || Last->getType() != V->getType() || !DT.dominates(Told, cast<Instruction>(V)))
    return nullptr;
  for (User *U : Last->users()) {
    auto *Call = dyn_cast<CallBase>(U);
    Function *Called = Call ? Call->getCalledFunction() : nullptr;
    if (Called && Called->getName().starts_with("__kmpc_dispatch_init_4") && Call->getArgOperand(4) == Last &&
        DT.dominates(Call, cast<Instruction>(V)))
      return Last;
  }
  return nullptr;
}

// What a number without a sign is known not to exceed.
void limits(Analyses &An, const SCEV *S, Type *Ty, SmallVectorImpl<const SCEV *> &Out) {
  auto &SE = An.SE;
  if (auto *Wide = dyn_cast<SCEVZeroExtendExpr>(S))
    S = Wide->getOperand();
  auto add = [&](const SCEV *Limit) {
    if (const SCEV *Fits = unsignedAs(SE, Limit, Ty))
      Out.push_back(Fits);
  };
  add(S);
  if (auto *Least = dyn_cast<SCEVUMinExpr>(S))
    for (const SCEV *Op : Least->operands())
      add(Op);
  auto *Opaque = dyn_cast<SCEVUnknown>(S);
  if (Value *Last = Opaque ? dispatchedLast(An.DT, Opaque->getValue()) : nullptr)
    add(SE.getSCEV(Last));
}

bool provedNotToWrap(Analyses &An, const SCEVAddRecExpr *Rec) {
  auto &SE = An.SE;
  const Loop *L = Rec->getLoop();
  Type *Ty = Rec->getType();
  auto *Constant = dyn_cast<SCEVConstant>(Rec->getStepRecurrence(SE));
  const SCEV *Back = SE.getSymbolicMaxBackedgeTakenCount(L);
  if (!Ty->isIntegerTy() || !Constant || Constant->isZero() || Constant->getAPInt().isMinSignedValue() ||
      isa<SCEVCouldNotCompute>(Back))
    return false;
  const APInt &Step = Constant->getAPInt();
  const SCEV *One = SE.getOne(Ty);
  // From the recurrence's start.
  if (const SCEV *Most = unsignedAs(SE, Back, Ty)) {
    if (staysSigned(SE, L, Rec->getStart(), Step, Most, Counted::Exactly))
      return true;
  } else if (const SCEV *Count = unsignedAs(SE, SE.getAddExpr(Back, SE.getOne(Back->getType())), Ty)) {
    if (staysSigned(SE, L, Rec->getStart(), Step, SE.getMinusSCEV(Count, One), Counted::Narrowed))
      return true;
  }
  // From where a counter of the loop would be 0, if all of its values are in a known range.
  for (PHINode &Phi : L->getHeader()->phis()) {
    if (!Phi.getType()->isIntegerTy() || Phi.getType() != Back->getType() ||
        SE.getTypeSizeInBits(Phi.getType()) < SE.getTypeSizeInBits(Ty))
      continue;
    auto *Counter = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(&Phi));
    if (!Counter || Counter->getLoop() != L || !Counter->isAffine() || !Counter->getStepRecurrence(SE)->isOne())
      continue;
    const SCEV *First = Counter->getStart(), *Last = SE.getAddExpr(First, Back);
    const SCEV *Behind = SE.getAddExpr(Last, SE.getOne(Last->getType()));
    if (!SE.isAvailableAtLoopEntry(First, L) || !SE.isAvailableAtLoopEntry(Last, L) ||
        (!SE.isLoopEntryGuardedByCond(L, ICmpInst::ICMP_ULE, First, Last) &&
         !SE.isLoopEntryGuardedByCond(L, ICmpInst::ICMP_ULT, First, Behind)))
      continue;
    const SCEV *Low = SE.getMinusSCEV(Rec->getStart(), SE.getMulExpr(SE.getTruncateOrNoop(First, Ty), Constant));
    Counted How = beginsWithBound(First) ? Counted::ByConstruct : Counted::Exactly;
    SmallVector<const SCEV *, 8> Limits;
    limits(An, Last, Ty, Limits);
    if (any_of(Limits, [&](const SCEV *Limit) { return staysSigned(SE, L, Low, Step, Limit, How); }))
      return true;
  }
  return false;
}

} // namespace

extern "C" {

// A key that is equal for addresses with a constant distance, and the offset from it.
const void *dsm_shim_address_key(void *A, LLVMValueRef Pointer, int64_t *Offset) {
  auto &SE = analyses(A).SE;
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
  const SCEV *Key = withoutConstant(analyses(A).SE, expr(S), Sum);
  *Offset = Sum.getSExtValue();
  return Key;
}

// The expression of a value, over quotients that the program computes.
const void *dsm_shim_scev(void *A, LLVMValueRef V) {
  auto &SE = analyses(A).SE;
  return SE.isSCEVable(unwrap(V)->getType()) ? overQuotients(SE, unwrap(V)) : nullptr;
}
// The same of an address, which may be an integer.
const void *dsm_shim_address_scev(void *A, LLVMValueRef V) {
  auto &SE = analyses(A).SE;
  return SE.isSCEVable(unwrap(V)->getType()) ? ofInteger(SE, overQuotients(SE, unwrap(V))) : nullptr;
}
// The same with all quotients taken apart, as LLVM itself has it.
const void *dsm_shim_plain_scev(void *A, LLVMValueRef V) {
  auto &SE = analyses(A).SE;
  return SE.isSCEVable(unwrap(V)->getType()) ? SE.getSCEV(unwrap(V)) : nullptr;
}
// An affine recurrence's value after Count iterations, or null if the types differ.
const void *dsm_shim_at_iteration(void *A, const void *S, const void *Count) {
  auto *Rec = cast<SCEVAddRecExpr>(expr(S));
  return Rec->getType() == expr(Count)->getType() ? Rec->evaluateAtIteration(expr(Count), analyses(A).SE) : nullptr;
}
// 1 and {start, step} if S is an affine recurrence of exactly this loop.
int dsm_shim_recurrence(void *A, const void *S, void *L, const void **Start, const void **Step) {
  auto *Rec = dyn_cast<SCEVAddRecExpr>(expr(S));
  if (!Rec || Rec->getLoop() != loop(L) || !Rec->isAffine())
    return 0;
  *Start = Rec->getStart();
  *Step = Rec->getStepRecurrence(analyses(A).SE);
  return 1;
}
// Marks the expression of a value as free of signed overflow: 1 if it is an affine recurrence that was not.
int dsm_shim_set_no_signed_wrap(void *A, LLVMValueRef V) {
  auto &SE = analyses(A).SE;
  auto *Rec = SE.isSCEVable(unwrap(V)->getType()) ? dyn_cast<SCEVAddRecExpr>(SE.getSCEV(unwrap(V))) : nullptr;
  if (!Rec || !Rec->isAffine() || Rec->hasNoSignedWrap())
    return 0;
  SE.setNoWrapFlags(const_cast<SCEVAddRecExpr *>(Rec), SCEV::FlagNSW);
  return 1;
}
// 1 if it is proved of the expression of a value, an affine recurrence that is not marked so, that it is free of signed overflow.
int dsm_shim_is_free_of_wrap(void *A, LLVMValueRef V) {
  auto &SE = analyses(A).SE;
  auto *Rec = SE.isSCEVable(unwrap(V)->getType()) ? dyn_cast<SCEVAddRecExpr>(SE.getSCEV(unwrap(V))) : nullptr;
  return Rec && Rec->isAffine() && !Rec->hasNoSignedWrap() && provedNotToWrap(analyses(A), Rec);
}
int dsm_shim_invariant(void *A, const void *S, void *L) {
  return analyses(A).SE.isLoopInvariant(expr(S), loop(L));
}
int dsm_shim_constant(const void *S, int64_t *Out) {
  auto *C = dyn_cast<SCEVConstant>(expr(S));
  if (!C || C->getAPInt().getSignificantBits() > 64)
    return 0;
  *Out = C->getAPInt().getSExtValue();
  return 1;
}
const void *dsm_shim_scev_constant(void *A, LLVMContextRef C, int64_t V) {
  return analyses(A).SE.getConstant(Type::getInt64Ty(*unwrap(C)), V, true);
}
const void *dsm_shim_scev_add(void *A, const void *X, const void *Y) {
  return analyses(A).SE.getAddExpr(expr(X), expr(Y));
}
const void *dsm_shim_scev_mul(void *A, const void *X, const void *Y) {
  return analyses(A).SE.getMulExpr(expr(X), expr(Y));
}
// An unsigned count as i64; null if it is wider.
const void *dsm_shim_scev_zext64(void *A, const void *S) {
  auto &SE = analyses(A).SE;
  if (!S || SE.getTypeSizeInBits(expr(S)->getType()) > 64)
    return nullptr;
  return SE.getNoopOrZeroExtend(expr(S), Type::getInt64Ty(SE.getContext()));
}
// A new expander for one function; values it makes are reused by later expansions.
void *dsm_shim_expander(void *A) {
  auto &An = analyses(A);
  auto *E = new SCEVExpander(An.SE, "dsm", false);
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
LLVMValueRef dsm_shim_expand_address(void *E, const void *S, LLVMValueRef At) {
  auto *Where = cast<Instruction>(unwrap(At));
  return wrap(static_cast<SCEVExpander *>(E)->expandCodeFor(expr(S), PointerType::get(Where->getContext(), 0),
                                                            Where->getIterator()));
}
size_t dsm_shim_scev_text(const void *S, char *Out, size_t Size) {
  std::string Text;
  raw_string_ostream Stream(Text);
  Stream << *expr(S);
  size_t N = std::min(Size, Text.size());
  memcpy(Out, Text.data(), N);
  return N;
}
// The pointer that an address is computed from, or null.
LLVMValueRef dsm_shim_pointer_base(void *A, LLVMValueRef Pointer) {
  auto &SE = analyses(A).SE;
  if (!SE.isSCEVable(unwrap(Pointer)->getType()))
    return nullptr;
  auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(SE.getSCEV(unwrap(Pointer))));
  return Base ? wrap(Base->getValue()) : nullptr;
}

} // extern "C"
