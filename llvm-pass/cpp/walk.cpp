// Pointers that loops compute as integers.
#include "shim.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/Utils/Local.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/ValueHandle.h"

using namespace llvm;
using namespace dsm;

namespace {

// Most phis of one walk, and most distances between one of them and a pointer that is computed from it: in code that is never reached they may depend on themselves.
constexpr unsigned MostPhis = 32, MostDistances = 64;

// Phis of pointers that depend on each other through what they are computed from, and are to be integers.
struct Walk {
  const DataLayout &DL;
  // A seeded fault: distances between pointers are left out.
  bool Distances;
  MapVector<PHINode *, PHINode *> Phis;
  // Pointers at a distance from a phi, as integers.
  MapVector<Instruction *, WeakTrackingVH> Sums;
  // Sums that have been looked at.
  SmallPtrSet<Value *, 16> Visited;
  // The first phi is computed from itself, through a sum.
  bool IsCycle = false;

  Walk(const DataLayout &DL, bool Distances) : DL(DL), Distances(Distances) {}

  static bool isPointer(Value *V) { return V->getType()->isPointerTy() && V->getType()->getPointerAddressSpace() == 0; }

  static IntToPtrInst *conversion(Value *V) {
    auto *Conversion = dyn_cast<IntToPtrInst>(V);
    return Conversion && isPointer(Conversion) && Conversion->getOperand(0)->getType()->isIntegerTy(64) ? Conversion : nullptr;
  }

  // The phi or the integer that a pointer is a distance away from, or the pointer itself.
  static Value *base(Value *V) {
    for (unsigned Distances = 0; Distances < MostDistances; ++Distances) {
      auto *GEP = dyn_cast<GetElementPtrInst>(V);
      if (!GEP || !isPointer(GEP))
        break;
      V = GEP->getPointerOperand();
    }
    return V;
  }

  // Adds the phis that a pointer is computed from, through sums of integers. False if there are too many. AsInteger: it is computed itself for such a sum.
  bool add(Value *Pointer, PHINode *First, bool AsInteger = false) {
    Value *Base = base(Pointer);
    if (auto *Phi = dyn_cast<PHINode>(Base)) {
      IsCycle |= Phi == First && AsInteger;
      if (Phis.count(Phi))
        return true;
      if (Phis.size() == MostPhis)
        return false;
      Phis.insert({Phi, nullptr});
      return all_of(Phi->incoming_values(), [&](Value *V) { return add(V, First, AsInteger); });
    }
    IntToPtrInst *Conversion = conversion(Base);
    return !Conversion || addSum(Conversion->getOperand(0), First);
  }

  bool addSum(Value *Sum, PHINode *First) {
    if (!Visited.insert(Sum).second)
      return true;
    if (auto *Taken = dyn_cast<PtrToIntInst>(Sum))
      return !isPointer(Taken->getPointerOperand()) || add(Taken->getPointerOperand(), First, true);
    auto *Op = dyn_cast<BinaryOperator>(Sum);
    if (!Op || (Op->getOpcode() != Instruction::Add && Op->getOpcode() != Instruction::Sub))
      return true;
    return addSum(Op->getOperand(0), First) && addSum(Op->getOperand(1), First);
  }

  // A pointer as an integer, computed where the pointer is, or at the end of a block.
  Value *integer(Value *V, BasicBlock *End) {
    auto *I = dyn_cast<Instruction>(V);
    if (auto *Phi = dyn_cast<PHINode>(V); Phi && Phis.count(Phi))
      return Phis[Phi];
    if (IntToPtrInst *Conversion = conversion(V))
      return Conversion->getOperand(0);
    if (I && Sums.count(I))
      return Sums[I];
    Value *Base = base(V);
    if (auto *GEP = dyn_cast<GetElementPtrInst>(V);
        GEP && Base != V && (conversion(Base) || (isa<PHINode>(Base) && Phis.count(cast<PHINode>(Base))))) {
      Value *From = integer(GEP->getPointerOperand(), nullptr);
      IRBuilder<> B(GEP->getNextNode());
      B.SetCurrentDebugLocation(GEP->getDebugLoc());
      Value *Sum = Distances ? B.CreateAdd(From, emitGEPOffset(&B, DL, GEP, /*NoAssumptions=*/true)) : From;
      Sums[GEP] = Sum;
      return Sum;
    }
    IRBuilder<> B(End->getTerminator());
    return B.CreatePtrToInt(V, B.getInt64Ty());
  }

  // Whether a phi is made of an integer. One that is walked with by elements stays what it is beside the integer that tells where it ends: the vectoriser knows its steps.
  static bool isConverted(PHINode *Phi) {
    return any_of(Phi->incoming_values(), [](Value *V) { return conversion(base(V)); }) &&
           none_of(Phi->incoming_values(), [&](Value *V) { return V != Phi && base(V) == Phi; });
  }

  static void replaceConversions(Value *Pointer, Value *Integer) {
    SmallVector<PtrToIntInst *, 4> Taken;
    // A null pointer does not know its users.
    if (isa<ConstantData>(Pointer))
      return;
    for (User *U : Pointer->users())
      if (auto *T = dyn_cast<PtrToIntInst>(U); T && T->getType()->isIntegerTy(64))
        Taken.push_back(T);
    for (PtrToIntInst *T : Taken) {
      T->replaceAllUsesWith(Integer);
      T->eraseFromParent();
    }
  }

  void rewrite() {
    for (auto &[Phi, Integer] : Phis) {
      Integer = PHINode::Create(Type::getInt64Ty(Phi->getContext()), Phi->getNumIncomingValues(), Phi->getName() + ".walk",
                                Phi->getIterator());
      Integer->setDebugLoc(Phi->getDebugLoc());
    }
    for (auto &[Phi, Integer] : Phis)
      for (unsigned I = 0; I < Phi->getNumIncomingValues(); ++I) {
        BasicBlock *From = Phi->getIncomingBlock(I);
        // A block that branches here twice comes with one value.
        int Before = Integer->getBasicBlockIndex(From);
        Integer->addIncoming(Before < 0 ? integer(Phi->getIncomingValue(I), From) : Integer->getIncomingValue(Before), From);
      }
    SmallVector<PHINode *, 8> Replaced;
    for (auto &[Phi, Integer] : Phis)
      if (isConverted(Phi))
        Replaced.push_back(Phi);
    for (auto &[Phi, Integer] : Phis)
      replaceConversions(Phi, Integer);
    for (auto &[Pointer, Integer] : Sums)
      replaceConversions(Pointer, Integer);
    for (PHINode *Phi : Replaced) {
      Value *Integer = Phis[Phi];
      IRBuilder<> B(Phi->getParent(), Phi->getParent()->getFirstInsertionPt());
      B.SetCurrentDebugLocation(Phi->getDebugLoc());
      Value *Pointer = B.CreateIntToPtr(Integer, Phi->getType());
      Phi->replaceAllUsesWith(Pointer);
      Pointer->takeName(Phi);
    }
    for (PHINode *Phi : Replaced)
      Phi->eraseFromParent();
  }

  // Where the pointers may be kept as they are converted: behind the phis of a block that has a place for instructions.
  bool isPossible() const {
    return all_of(Phis, [](auto &Entry) {
      PHINode *Phi = Entry.first;
      return isPointer(Phi) && Phi->getParent()->getFirstInsertionPt() != Phi->getParent()->end() &&
             none_of(Phi->blocks(), [](BasicBlock *B) { return isa<CallBrInst, CatchSwitchInst>(B->getTerminator()); }) &&
             none_of(Phi->incoming_values(), [](Value *V) { return isa<InvokeInst, CallBrInst>(V); });
    });
  }
};

} // namespace

extern "C" {

// Keeps pointers that loops advance as integers in phis of integers. IsCycle how many phis that were.
uint64_t dsm_shim_keep_integers(LLVMValueRef Function, int Distances) {
  auto &F = *unwrap<llvm::Function>(Function);
  uint64_t Count = 0;
  for (bool Found = true; Found;) {
    Found = false;
    for (BasicBlock &Block : F)
      for (PHINode &Phi : Block.phis()) {
        if (!Walk::isPointer(&Phi) || none_of(Phi.incoming_values(), [](Value *V) { return Walk::conversion(Walk::base(V)); }))
          continue;
        Walk Walk(F.getDataLayout(), Distances);
        if (!Walk.add(&Phi, &Phi) || !Walk.IsCycle || !Walk.isPossible())
          continue;
        Walk.rewrite();
        Count += Walk.Phis.size();
        Found = true;
        break;
      }
  }
  return Count;
}

} // extern "C"
