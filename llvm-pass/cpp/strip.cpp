// Loops whose accesses advance by bounded distances: what bounds them, and executing such a loop in strips.
#include "shim.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Operator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

using namespace llvm;
using namespace dsm;

namespace {

// Deepest chain of instructions from an address to a phi of the loop's header.
constexpr unsigned MaxDepth = 6;
// Above all distances.
constexpr int64_t MaxDistance = 1 << 16;

// In which arithmetic sums must not wrap for their extension to be the sum of extensions.
enum class Wraps { Anyhow, NotSigned, NotUnsigned };

// The least and the most that a value of an iteration is beyond a phi of the loop's header.
struct Beyond {
  PHINode *Root = nullptr;
  int64_t Lo = 0, Hi = 0;
};

bool isSmall(int64_t Distance) { return Distance > -MaxDistance && Distance < MaxDistance; }

// The least and the most that a sum adds to its first operand.
std::optional<std::pair<int64_t, int64_t>> added(BinaryOperator *Sum, Wraps W) {
  using Range = std::pair<int64_t, int64_t>;
  if (Sum->getOpcode() != Instruction::Add || Sum->getType()->getScalarSizeInBits() > 64)
    return std::nullopt;
  if ((W == Wraps::NotSigned && !Sum->hasNoSignedWrap()) || (W == Wraps::NotUnsigned && !Sum->hasNoUnsignedWrap()))
    return std::nullopt;
  Value *Added = Sum->getOperand(1);
  if (auto *C = dyn_cast<ConstantInt>(Added)) {
    int64_t Distance = W == Wraps::NotUnsigned ? int64_t(C->getZExtValue()) : C->getSExtValue();
    return isSmall(Distance) ? std::optional(Range(Distance, Distance)) : std::nullopt;
  }
  // A condition as a number.
  auto *Number = dyn_cast<CastInst>(Added);
  if (!Number || !Number->getSrcTy()->isIntegerTy(1))
    return std::nullopt;
  if (isa<ZExtInst>(Number))
    return Range(0, 1);
  return isa<SExtInst>(Number) && W != Wraps::NotUnsigned ? std::optional(Range(-1, 0)) : std::nullopt;
}

std::optional<Beyond> beyond(const DataLayout &DL, const Loop *L, Value *V, Wraps W, unsigned Depth = MaxDepth) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !L->contains(I) || Depth == 0)
    return std::nullopt;
  auto behind = [&](Value *Of, int64_t Least, int64_t Most) {
    auto Known = beyond(DL, L, Of, W, Depth - 1);
    if (Known)
      Known->Lo += Least, Known->Hi += Most;
    return Known;
  };
  auto any = [&](auto &&Values) {
    std::optional<Beyond> All;
    for (Value *Of : Values) {
      auto Known = beyond(DL, L, Of, W, Depth - 1);
      if (!Known || (All && All->Root != Known->Root))
        return std::optional<Beyond>();
      All = All ? Beyond{All->Root, std::min(All->Lo, Known->Lo), std::max(All->Hi, Known->Hi)} : *Known;
    }
    return All;
  };
  if (auto *Phi = dyn_cast<PHINode>(I))
    return Phi->getParent() == L->getHeader() ? std::optional(Beyond{Phi}) : any(Phi->incoming_values());
  if (auto *Select = dyn_cast<SelectInst>(I))
    return any(SmallVector<Value *, 2>{Select->getTrueValue(), Select->getFalseValue()});
  if (auto *Sum = dyn_cast<BinaryOperator>(I)) {
    auto Distance = added(Sum, W);
    return Distance ? behind(Sum->getOperand(0), Distance->first, Distance->second) : std::nullopt;
  }
  if (auto *Pointer = dyn_cast<GEPOperator>(I); Pointer && I->getType()->isPointerTy()) {
    APInt Distance(DL.getIndexTypeSizeInBits(I->getType()), 0);
    if (Pointer->accumulateConstantOffset(DL, Distance) && isSmall(Distance.getSExtValue()))
      return behind(Pointer->getPointerOperand(), Distance.getSExtValue(), Distance.getSExtValue());
  }
  return std::nullopt;
}

} // namespace

extern "C" {

// What bounds an address of an innermost loop: it is Base + Scale * extended(Root) plus something from Numbers[2] to Numbers[3], Root, a phi of the header, changes by something from
// Numbers[4] to Numbers[5] bytes in each iteration. Without Base the root is an address; without root the address is Base, which does not change. Numbers[0] is Scale; Numbers[1] is 0 if the root is not
// extended, 1 with its sign and 2 without. False if that is not known.
int dsm_shim_strip_bounds(void *A, void *LoopPtr, LLVMValueRef PointerRef, LLVMValueRef *Root, LLVMValueRef *Base,
                          int64_t *Numbers) {
  const DataLayout &DL = analyses(A).DL;
  const Loop *L = loop(LoopPtr);
  Value *Pointer = unwrap(PointerRef);
  BasicBlock *Latch = L->getLoopLatch();
  if (!Latch || Pointer->getType()->getPointerAddressSpace() != 0)
    return false;
  auto found = [&](Value *From, int64_t Scale, int Extension, Wraps W, Value *Index, int64_t Constant) {
    auto Where = beyond(DL, L, Index, W);
    auto Step = Where ? beyond(DL, L, Where->Root->getIncomingValueForBlock(Latch), W) : std::nullopt;
    if (!Step || Step->Root != Where->Root || !isSmall(Scale) || !isSmall(Constant))
      return false;
    *Root = wrap(Where->Root);
    *Base = wrap(From);
    auto ends = [&](const Beyond &B, int64_t *Out) {
      Out[0] = std::min(B.Lo * Scale, B.Hi * Scale);
      Out[1] = std::max(B.Lo * Scale, B.Hi * Scale);
    };
    Numbers[0] = Scale, Numbers[1] = Extension;
    ends(*Where, Numbers + 2);
    Numbers[2] += Constant, Numbers[3] += Constant;
    ends(*Step, Numbers + 4);
    return true;
  };
  if (found(nullptr, 1, 0, Wraps::Anyhow, Pointer, 0))
    return true;
  APInt Constant(64, 0);
  Value *Stripped = Pointer->stripAndAccumulateConstantOffsets(DL, Constant, true);
  if (!isSmall(Constant.getSExtValue()))
    return false;
  if (L->isLoopInvariant(Stripped)) {
    *Root = nullptr;
    *Base = wrap(Stripped);
    std::fill(Numbers, Numbers + 6, 0);
    Numbers[2] = Numbers[3] = Constant.getSExtValue();
    return true;
  }
  auto *Address = dyn_cast<GEPOperator>(Stripped);
  SmallMapVector<Value *, APInt, 4> Indices;
  if (!Address || !L->isLoopInvariant(Address->getPointerOperand()) || !Address->collectOffset(DL, 64, Indices, Constant) ||
      Indices.size() != 1 || !isSmall(Constant.getSExtValue()))
    return false;
  auto [Index, Scale] = Indices.front();
  if (!Index->getType()->isIntegerTy(64))
    return false;
  Wraps W = Wraps::Anyhow;
  int Extension = 0;
  if (auto *Extended = dyn_cast<SExtInst>(Index)) {
    Index = Extended->getOperand(0), W = Wraps::NotSigned, Extension = 1;
  } else if (auto *Extended = dyn_cast<ZExtInst>(Index)) {
    bool Signed = Extended->hasNonNeg();
    Index = Extended->getOperand(0), W = Signed ? Wraps::NotSigned : Wraps::NotUnsigned, Extension = Signed ? 1 : 2;
  }
  return found(Address->getPointerOperand(), Scale.getSExtValue(), Extension, W, Index, Constant.getSExtValue());
}

// A block in front of a loop in which each phi of its header has its value: returns the block's terminator.
LLVMValueRef dsm_shim_strip_begin(void *A, void *LoopPtr) {
  auto &An = analyses(A);
  Loop *L = loop(LoopPtr);
  BasicBlock *Front = L->getLoopPreheader();
  BasicBlock *Between = SplitEdge(Front, L->getHeader(), &An.DT, &An.LI);
  for (PHINode &Phi : L->getHeader()->phis()) {
    auto *Value = PHINode::Create(Phi.getType(), 3, Phi.getName() + ".strip");
    Value->insertBefore(Between->getFirstNonPHIIt());
    Value->setDebugLoc(Phi.getDebugLoc());
    Value->addIncoming(Phi.getIncomingValueForBlock(Between), Front);
    Phi.setIncomingValueForBlock(Between, Value);
  }
  return wrap(Between->getTerminator());
}

// Has a loop and its copy, which are entered from that block, go back to it after so many iterations.
void dsm_shim_strip_end(void *A, void *LoopPtr, void *MapPtr, LLVMValueRef IterationsRef) {
  auto &An = analyses(A);
  auto &Map = *static_cast<ValueToValueMapTy *>(MapPtr);
  Loop *L = loop(LoopPtr);
  auto copyOf = [&](Value *V) { return static_cast<Value *>(Map[V]); };
  Loop *Copy = An.LI.getLoopFor(cast<BasicBlock>(copyOf(L->getHeader())));
  SmallVector<std::array<PHINode *, 3>, 8> Phis;
  for (PHINode &Phi : L->getHeader()->phis())
    Phis.push_back({cast<PHINode>(Phi.getIncomingValueForBlock(L->getLoopPreheader())), &Phi, cast<PHINode>(copyOf(&Phi))});
  BasicBlock *Between = Phis.front()[0]->getParent();
  for (auto [Which, Each] : {std::pair(1, L), std::pair(2, Copy)}) {
    MDNode *Id = Each->getLoopID();
    BasicBlock *Header = Each->getHeader(), *Entry = Each->getLoopPreheader();
    BasicBlock *Back = SplitEdge(Each->getLoopLatch(), Header, &An.DT, &An.LI);
    auto *Type = Type::getInt64Ty(Header->getContext());
    auto *Left = PHINode::Create(Type, 2, "dsm.left");
    Left->insertBefore(Header->getFirstNonPHIIt());
    Instruction *Old = Back->getTerminator();
    IRBuilder<> Builder(Old);
    Value *Next = Builder.CreateAdd(Left, ConstantInt::getSigned(Type, -1));
    Value *Done = Builder.CreateICmpEQ(Next, ConstantInt::get(Type, 0));
    MDNode *Weights = MDBuilder(Header->getContext()).createBranchWeights(1, 100);
    Builder.CreateCondBr(Done, Between, Header, Weights);
    Old->eraseFromParent();
    Left->addIncoming(unwrap(IterationsRef), Entry);
    Left->addIncoming(Next, Back);
    for (auto &Phi : Phis)
      Phi[0]->addIncoming(Phi[Which]->getIncomingValueForBlock(Back), Back);
    Each->setLoopID(Id);
  }
}

} // extern "C"
