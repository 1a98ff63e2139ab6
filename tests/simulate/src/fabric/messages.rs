//! Messages between processes: requests and answers, atomic operations, and what is sent without waiting.

use dsm_coherence::{Exchange, Rank, Word, calls};

use super::SimFabric;
use crate::costs::ns;
use crate::net::{Shared, word_number};

impl SimFabric {
    pub(super) async fn request(&self, at: Rank, bytes: u64) {
        self.world.pay(self.me).await;
        self.world.travel(self.me, self.me, at.0, bytes).await;
    }

    /// Calls at one process: one message each way.
    pub(super) async fn call_together(&self, exchanges: &mut [&mut Exchange<'_>]) {
        let at = exchanges[0].at;
        self.request(at, exchanges.iter().map(|exchange| exchange.request.len() as u64).sum()).await;
        self.world.handle(at.0).await;
        let agent = SimFabric::new(&self.world, at.0);
        let mut bytes = 0;
        for Exchange { request, reply, length, .. } in exchanges.iter_mut().map(|exchange| &mut **exchange) {
            *length = calls::serve(&agent, at, request, reply).await.expect("a request of the protocol");
            bytes += *length as u64;
        }
        self.answer(at, bytes).await;
    }

    pub(super) async fn answer(&self, at: Rank, bytes: u64) {
        self.world.travel(self.me, at.0, self.me, bytes).await;
    }

    pub(super) async fn atomic(&self, at: Rank, word: Word, update: impl FnOnce(u64) -> Option<u64>) -> u64 {
        if at.0 == self.me {
            self.world.charge_words(self.me, 5);
        } else {
            self.request(at, 16).await;
            self.world.atomic(at.0, word_number(word)).await;
        }
        let old = self.world.word(at.0, word);
        if let Some(new) = update(old) {
            self.world.set_word(at.0, word, new);
        }
        if at.0 != self.me {
            self.answer(at, 8).await;
        }
        old
    }

    /// Sends something that takes effect later, and does not wait for it.
    pub(super) async fn post(&self, at: Rank, bytes: u64, effect: impl FnOnce(&Shared) + 'static) {
        if at.0 == self.me {
            return effect(&self.world);
        }
        self.world.pay(self.me).await;
        self.world.begin_post(self.me, at.0);
        self.world.count(self.me, bytes);
        let arrival = self.world.depart(self.me, self.me, bytes);
        let (world, me) = (self.world.clone(), self.me);
        self.world.engine.spawn(async move {
            world.arrive(at.0, bytes, arrival).await;
            effect(&world);
            // The transport acknowledges.
            world.engine.sleep_until(world.engine.now() + ns(world.costs.wire_ns)).await;
            world.end_post(me, at.0);
        });
    }
}
