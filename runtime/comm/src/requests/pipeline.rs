//! The requester's end of the lane for requests to one peer, for all threads of the process.
//!
//! Where the carrier has one exchange at a time ([`Exchanges::OneByOne`]), a thread holds the lane from its request to its reply. Where replies come in the order of
//! requests, exchanges of any number of threads are under way. A thread puts its request behind those that are to be sent, and has a number by that. If nobody is
//! sending, it sends all that is there with one call; while somebody is, requests gather, and the thread that has put the last one there sends them (flat combining: Hendler et al.,
//! SPAA 2010; the combiner is the last one, see below). Each thread receives its own reply, once the one with the number before has its own.
//!
//! A thread that sends takes no replies, so it must send nothing behind its own request: the agent, which could not send the reply to that one, would take no more. What it sends
//! before its own request is of threads that take their replies.
//!
//! # Credits
//! What may be waiting to be sent to a peer is bounded: so many bytes of requests, and of posted ones so many. Who wants to put another one there when these credits are used up is
//! told that the lane is [`Full`], and decides: a thread that has nothing under way sleeps until requests have been sent; one that has goes on without. Nobody else gets to know: the agent takes requests as
//! it has space for replies, and what it does not take, the carrier holds back.
//!
//! A *posted* request has no reply and no number. Its thread sends it with what is there, once nobody else is sending. If another thread sends it behind its own request, the agent has
//! space for it while it cannot reply: of posted requests there are never more than [`BATCH`] bytes in the queue.
//!
//! # Windows
//! The pieces of a transfer go as *windows*: up to [`WINDOW`] requests that are put into the queue at once, so that no other thread's request is among them, and are sent at
//! once. All replies of a window are taken when the turn of its first has come. While the thread sends a window, the agent takes all of it before any reply is taken: either its requests
//! are long and the replies short, for which a connection that is empty otherwise has space, or the requests are short, which the agent has space for while it cannot send a
//! reply: [`BATCH`] bytes together. Before it takes the replies, the thread puts the next window into the queue if there is space, and never waits for that: threads behind the window
//! wait for it to take its replies. It sends that window only when it has taken them, as somebody else's request may be between the two.

use std::io;
use std::mem;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use dsm_threads::futex;

use super::carrier::{BATCH, Exchanges, MAX_REQUEST, REPLY_BYTES, Replies, RequestSender, Requester};
use super::client::lock;
use super::wire::{HEADER, Request};
use crate::lost::{Liveness, Lost};

/// Most requests of a window.
const WINDOW: u32 = 8;
/// How many of the longest requests the queue holds.
const LONGEST: usize = 4;

/// Requests, put into the queue at once, that have been sent and whose replies have not been taken.
pub(super) struct Window(RangeInclusive<u32>);

pub(super) struct Lane {
    liveness: Arc<Liveness>,
    kind: Kind,
}

enum Kind {
    OneByOne(Mutex<Box<dyn Requester>>),
    InOrder(Pipeline),
}

impl Lane {
    pub(super) fn new(liveness: Arc<Liveness>, exchanges: Exchanges) -> Lane {
        let kind = match exchanges {
            Exchanges::OneByOne(requester) => Kind::OneByOne(Mutex::new(requester)),
            Exchanges::InOrder(sender, replies) => Kind::InOrder(Pipeline::new(sender, replies)),
        };
        Lane { liveness, kind }
    }

    /// Sends the requests of at most `most` bytes each that `fill` makes, one at a time, of which it says how long it is, until it makes one without bytes. Hands
    /// the replies to `take`, in the order of the requests.
    pub(super) fn exchange_all(
        &self,
        most: usize,
        mut fill: impl FnMut(&mut [u8]) -> usize,
        mut take: impl FnMut(&mut dyn Replies) -> Result<(), Lost>,
    ) -> Result<(), Lost> {
        match &self.kind {
            Kind::OneByOne(requester) => loop {
                // Other threads come in between.
                let requester = &mut **lock(requester);
                self.liveness.check()?;
                let bytes = fill(&mut requester.request()[..most]);
                if bytes == 0 {
                    return Ok(());
                }
                let head = self.liveness.or_lost(requester.exchange(bytes))?;
                take(&mut OneReply { head, requester })?;
            },
            Kind::InOrder(pipeline) => pipeline.exchange_all(&self.liveness, most, &mut fill, &mut take),
        }
    }

    /// Sends a window of the requests that [`Lane::exchange_all`] would send. `None` if there are none, or where each exchange ends before the next one begins. Other threads' requests
    /// are not executed, or not answered, before the window's replies are taken: see [`super::fan_out`].
    pub(super) fn send_window(
        &self,
        most: usize,
        mut fill: impl FnMut(&mut [u8]) -> usize,
    ) -> Option<Window> {
        match &self.kind {
            Kind::OneByOne(_) => None,
            Kind::InOrder(pipeline) => pipeline.send_window(&self.liveness, most, &mut fill),
        }
    }

    /// Takes the replies to a window.
    pub(super) fn take_window(
        &self,
        Window(window): Window,
        mut take: impl FnMut(&mut dyn Replies) -> Result<(), Lost>,
    ) -> Result<(), Lost> {
        match &self.kind {
            Kind::OneByOne(_) => unreachable!("no window has been sent"),
            Kind::InOrder(pipeline) => {
                pipeline.wait_turn(&self.liveness, *window.start(), *window.end());
                pipeline.take_replies(&self.liveness, window, &mut take)
            }
        }
    }

    /// Sends the request of at most `most` bytes that `fill` makes, which says how long it is, and hands the reply to `take`.
    pub(super) fn exchange<R>(
        &self,
        most: usize,
        fill: impl FnOnce(&mut [u8]) -> usize,
        take: impl FnOnce(&mut dyn Replies) -> Result<R, Lost>,
    ) -> Result<R, Lost> {
        match &self.kind {
            Kind::OneByOne(requester) => {
                let requester = &mut **lock(requester);
                self.liveness.check()?;
                let bytes = fill(&mut requester.request()[..most]);
                let head = self.liveness.or_lost(requester.exchange(bytes))?;
                take(&mut OneReply { head, requester })
            }
            Kind::InOrder(pipeline) => {
                let number = pipeline.put(most, fill);
                pipeline.complete(&self.liveness, number, take)
            }
        }
    }

    /// Sends a request that has no reply. Where each exchange ends before the next one begins, `answered` in its place, whose reply goes to `take`.
    pub(super) fn post(
        &self,
        request: &Request<'_>,
        answered: &Request<'_>,
        take: impl FnOnce(&mut dyn Replies) -> Result<(), Lost>,
    ) -> Result<(), Lost> {
        let fill = |request: &Request<'_>, buffer: &mut [u8]| {
            let (header, payload) = buffer.split_at_mut(HEADER);
            header.copy_from_slice(&request.header());
            payload.copy_from_slice(request.payload());
            buffer.len()
        };
        let bytes = HEADER + request.payload().len();
        match &self.kind {
            Kind::OneByOne(_) => self.exchange(bytes, |buffer| fill(answered, buffer), take),
            Kind::InOrder(pipeline) => {
                pipeline.post(&self.liveness, bytes, |buffer| _ = fill(request, buffer))
            }
        }
    }

    /// Waits until the peer has ended.
    pub(super) fn wait_end(&self) {
        match &self.kind {
            Kind::OneByOne(requester) => lock(requester).wait_end(),
            Kind::InOrder(pipeline) => {
                // In the order of requests, and without bytes.
                let number = lock(&pipeline.queue).number(0);
                // However it has ended.
                _ = pipeline.complete(&self.liveness, number, |replies| {
                    _ = replies.payload_into(&mut [0]);
                    Ok(())
                });
            }
        }
    }
}

/// The reply of the one exchange that there is.
struct OneReply<'a> {
    head: [u8; REPLY_BYTES],
    requester: &'a mut dyn Requester,
}

impl Replies for OneReply<'_> {
    fn head(&mut self) -> io::Result<[u8; REPLY_BYTES]> {
        Ok(self.head)
    }

    fn payload(&mut self, bytes: usize) -> io::Result<&[u8]> {
        self.requester.payload(bytes)
    }

    fn payload_into(&mut self, into: &mut [u8]) -> io::Result<()> {
        self.requester.payload_into(into)
    }
}

struct Pipeline {
    queue: Mutex<Queue>,
    /// Notified when there is space in the queue, and when nobody sends any more.
    changed: Condvar,
    /// Number of the first request that nobody has taken to send.
    unsent: AtomicU32,
    /// Number of the thread that receives.
    turn: AtomicU32,
    /// Changes with whatever threads wait for.
    event: AtomicU32,
    /// Whose turn it is has it.
    replies: Mutex<Box<dyn Replies>>,
}

/// Requests to be sent.
struct Queue {
    bytes: Box<[u8]>,
    used: usize,
    /// Bytes of these that belong to requests without a reply: at most [`BATCH`].
    posted: usize,
    /// Number of the next request.
    next: u32,
    /// How often all that was there has been taken to be sent.
    taken: u64,
    /// Threads that wait for space, or until nobody sends.
    waiting: u32,
    /// `None` while somebody sends.
    sender: Option<Idle>,
}

/// What sends, while nobody does, and a buffer as long as the queue's.
struct Idle {
    sender: Box<dyn RequestSender>,
    buffer: Box<[u8]>,
}

/// What threads with this number sleep by.
fn mask(number: u32) -> u32 {
    1 << (number % u32::BITS)
}

impl Pipeline {
    fn new(sender: Box<dyn RequestSender>, replies: Box<dyn Replies>) -> Pipeline {
        let buffer = || vec![0; LONGEST * MAX_REQUEST + BATCH].into();
        let queue = Queue {
            bytes: buffer(),
            used: 0,
            posted: 0,
            next: 0,
            taken: 0,
            waiting: 0,
            sender: Some(Idle { sender, buffer: buffer() }),
        };
        let [unsent, turn, event] = [(); 3].map(|()| AtomicU32::new(0));
        Pipeline {
            queue: Mutex::new(queue),
            changed: Condvar::new(),
            unsent,
            turn,
            event,
            replies: Mutex::new(replies),
        }
    }

    /// The queue, and what is done with it once it is not full. Of a thread that has nothing under way.
    fn once_not_full<T>(
        &self,
        mut put: impl FnMut(&mut Queue) -> Result<T, Full>,
    ) -> (MutexGuard<'_, Queue>, T) {
        let mut queue = lock(&self.queue);
        loop {
            match put(&mut queue) {
                Ok(done) => return (queue, done),
                Err(Full) => queue = self.wait_changed(queue),
            }
        }
    }

    fn wait_changed<'a>(&self, mut queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        queue.waiting += 1;
        queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        queue.waiting -= 1;
        queue
    }

    /// Sends a request of so many bytes, which has no reply, with what is there.
    fn post(&self, liveness: &Liveness, bytes: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Lost> {
        let (mut queue, ()) = self.once_not_full(|queue| queue.take_credits_to_post(bytes));
        fill(queue.last(bytes));
        let before = queue.taken;
        while queue.taken == before {
            match queue.sender.take() {
                Some(idle) => {
                    self.send_all(liveness, queue, idle, None);
                    break;
                }
                None => queue = self.wait_changed(queue),
            }
        }
        liveness.check()
    }

    /// Puts a request into the queue; its number.
    fn put(&self, most: usize, fill: impl FnOnce(&mut [u8]) -> usize) -> u32 {
        let (mut queue, ()) = self.once_not_full(|queue| queue.check_credits(most));
        let used = queue.used;
        let bytes = fill(&mut queue.bytes[used..][..most]);
        queue.number(bytes)
    }

    /// Hands the reply of this number to `take`, when its turn has come. Until then the thread sends what is its to send.
    fn complete<R>(
        &self,
        liveness: &Liveness,
        number: u32,
        take: impl FnOnce(&mut dyn Replies) -> Result<R, Lost>,
    ) -> Result<R, Lost> {
        self.wait_turn(liveness, number, number);
        let result = liveness.check().and_then(|()| take(&mut **lock(&self.replies)));
        self.end_turn(number);
        result
    }

    /// [`Lane::exchange_all`].
    fn exchange_all(
        &self,
        liveness: &Liveness,
        most: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> usize,
        take: &mut dyn FnMut(&mut dyn Replies) -> Result<(), Lost>,
    ) -> Result<(), Lost> {
        let mut result = Ok(());
        let mut is_last = false;
        let mut next = None;
        loop {
            let window = match next.take() {
                Some(window) => window,
                None if is_last => return result,
                None => match self.once_not_full(|queue| queue.window(most, fill, &mut is_last)).1 {
                    Some(window) => window,
                    None => return result,
                },
            };
            let (first, last) = window.into_inner();
            self.wait_turn(liveness, first, last);
            if !is_last {
                // Something of this thread is under way: if the queue is full, it goes on without another window.
                next = lock(&self.queue).window(most, fill, &mut is_last).unwrap_or_default();
            }
            result = result.and(self.take_replies(liveness, first..=last, take));
            // What is in the queue already has its turn.
            is_last |= result.is_err();
        }
    }

    /// [`Lane::send_window`]. Waits until the window has been sent, by whichever thread.
    fn send_window(
        &self,
        liveness: &Liveness,
        most: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Option<Window> {
        let (mut queue, window) = self.once_not_full(|queue| queue.window(most, fill, &mut false));
        let window = window?;
        let last = *window.end();
        while self.is_unsent(last) {
            // The thread with the last request sends what is behind the window, too.
            let is_last = queue.next == last.wrapping_add(1);
            match queue.sender.take() {
                Some(idle) if is_last => {
                    self.send_all(liveness, queue, idle, Some(last));
                    break;
                }
                sender => {
                    queue.sender = sender;
                    queue = self.wait_changed(queue);
                }
            }
        }
        Some(Window(window))
    }

    /// Takes the replies to a window whose turn has come.
    fn take_replies(
        &self,
        liveness: &Liveness,
        window: RangeInclusive<u32>,
        take: &mut dyn FnMut(&mut dyn Replies) -> Result<(), Lost>,
    ) -> Result<(), Lost> {
        let (first, last) = window.into_inner();
        let mut replies = lock(&self.replies);
        let mut taken = (0..=last.wrapping_sub(first)).map(|_| take(&mut **replies));
        let result = liveness.check().and_then(|()| taken.try_for_each(|taken| taken));
        drop(taken);
        drop(replies);
        self.end_turn(last);
        result
    }

    /// Waits until the turn of the first of these requests has come. Until then the thread sends what is its to send.
    fn wait_turn(&self, liveness: &Liveness, first: u32, last: u32) {
        loop {
            let event = self.event.load(Ordering::SeqCst);
            if self.is_unsent(last) {
                self.send(liveness, last);
            }
            if self.turn.load(Ordering::SeqCst) == first && !self.is_unsent(last) {
                return;
            }
            futex::wait(&self.event, event, mask(first) | mask(last));
        }
    }

    /// The replies up to this one have been taken.
    fn end_turn(&self, last: u32) {
        let next = last.wrapping_add(1);
        self.turn.store(next, Ordering::SeqCst);
        if lock(&self.queue).next != next {
            self.notify(next);
        }
    }

    fn is_unsent(&self, number: u32) -> bool {
        number.wrapping_sub(self.unsent.load(Ordering::SeqCst)).cast_signed() >= 0
    }

    /// Tells the thread with this number that something has happened.
    fn notify(&self, number: u32) {
        self.event.fetch_add(1, Ordering::SeqCst);
        futex::wake(&self.event, mask(number));
    }

    /// Sends all requests up to this one, if it is the last one and nobody else is sending.
    fn send(&self, liveness: &Liveness, number: u32) {
        let mut queue = lock(&self.queue);
        if queue.next != number.wrapping_add(1) || !self.is_unsent(number) {
            return;
        }
        if let Some(idle) = queue.sender.take() {
            self.send_all(liveness, queue, idle, Some(number));
        }
    }

    /// Sends all that is in the queue. `number`: of the thread's own request, if there is a reply to it.
    fn send_all(
        &self,
        liveness: &Liveness,
        mut queue: MutexGuard<'_, Queue>,
        idle: Idle,
        number: Option<u32>,
    ) {
        let Idle { mut sender, buffer } = idle;
        let buffer = mem::replace(&mut queue.bytes, buffer);
        let bytes = mem::take(&mut queue.used);
        queue.posted = 0;
        queue.taken += 1;
        let end = queue.next;
        self.unsent.store(end, Ordering::SeqCst);
        if queue.waiting != 0 {
            self.changed.notify_all();
        }
        drop(queue);
        // Its turn may have come before its request was taken.
        let turn = self.turn.load(Ordering::SeqCst);
        if turn != end && number.is_none_or(|number| turn != number) {
            self.notify(turn);
        }
        // Who takes the replies finds that the peer is lost.
        if liveness.check().is_ok() {
            _ = liveness.or_lost(sender.send(&buffer[..bytes]));
        }
        let mut queue = lock(&self.queue);
        queue.sender = Some(Idle { sender, buffer });
        if queue.waiting != 0 {
            self.changed.notify_all();
        }
        let last = queue.next.wrapping_sub(1);
        drop(queue);
        // Somebody may have put a request there meanwhile, and looked in vain for what sends.
        if self.is_unsent(last) && Some(last) != number {
            self.notify(last);
        }
    }
}

/// There are no credits for another request.
#[derive(Debug, PartialEq, Eq)]
struct Full;

impl Queue {
    /// Whether there are credits for a request of so many bytes.
    fn check_credits(&self, bytes: usize) -> Result<(), Full> {
        if self.bytes.len() - self.used >= bytes { Ok(()) } else { Err(Full) }
    }

    /// Takes the credits for a request of so many bytes that has no reply, and its place behind the others.
    fn take_credits_to_post(&mut self, bytes: usize) -> Result<(), Full> {
        self.check_credits(bytes)?;
        if self.posted + bytes > BATCH {
            return Err(Full);
        }
        self.used += bytes;
        self.posted += bytes;
        Ok(())
    }

    /// The place of the last request, of so many bytes.
    fn last(&mut self, bytes: usize) -> &mut [u8] {
        &mut self.bytes[self.used - bytes..self.used]
    }

    /// Puts as many requests of at most `most` bytes each as a window has, and as there are credits for, at least one, behind the others; their numbers, or `None` if there are no
    /// requests. Sets `is_last` when `fill` makes one without bytes.
    fn window(
        &mut self,
        most: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> usize,
        is_last: &mut bool,
    ) -> Result<Option<RangeInclusive<u32>>, Full> {
        self.check_credits(most)?;
        let first = self.next;
        while self.next.wrapping_sub(first) < WINDOW && self.check_credits(most).is_ok() {
            let used = self.used;
            let bytes = fill(&mut self.bytes[used..][..most]);
            if bytes == 0 {
                *is_last = true;
                break;
            }
            self.number(bytes);
        }
        Ok((self.next != first).then(|| first..=self.next.wrapping_sub(1)))
    }

    /// The number of a request that has been put behind the others.
    fn number(&mut self, bytes: usize) -> u32 {
        self.used += bytes;
        let number = self.next;
        self.next = number.wrapping_add(1);
        number
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// Sends once it may, and counts.
    struct Gate(Receiver<()>, Arc<AtomicUsize>);

    impl RequestSender for Gate {
        fn send(&mut self, requests: &[u8]) -> io::Result<()> {
            // When nobody closes it any more, it stays open.
            _ = self.0.recv();
            self.1.fetch_add(requests.len(), Ordering::SeqCst);
            Ok(())
        }
    }

    /// Replies without contents, that come once so many bytes of requests have been sent.
    struct Empty(Arc<AtomicUsize>, usize);

    impl Replies for Empty {
        fn head(&mut self) -> io::Result<[u8; REPLY_BYTES]> {
            while self.0.load(Ordering::SeqCst) < self.1 {
                std::thread::yield_now();
            }
            Ok([0; REPLY_BYTES])
        }

        fn payload(&mut self, _: usize) -> io::Result<&[u8]> {
            Ok(&[])
        }

        fn payload_into(&mut self, _: &mut [u8]) -> io::Result<()> {
            Ok(())
        }
    }

    /// No thread gets its reply before all have sent their requests: a process's threads wait side by side.
    #[test]
    fn threads_have_requests_under_way_together() {
        const THREADS: usize = 8;
        let sent = Arc::new(AtomicUsize::new(0));
        let gate = Gate(channel().1, sent.clone());
        let pipeline = Pipeline::new(Box::new(gate), Box::new(Empty(sent, THREADS * HEADER)));
        let liveness = Liveness::new(0, 1);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let number = pipeline.put(HEADER, |buffer| buffer.len());
                    pipeline.complete(&liveness, number, |replies| liveness.or_lost(replies.head())).unwrap()
                });
            }
        });
    }

    /// While nothing is sent, as many requests as there are credits for are in the queue; the threads with the others sleep, and send theirs afterwards.
    #[test]
    fn requests_without_credits_wait() {
        let (gate, opens) = channel();
        let sent = Arc::new(AtomicUsize::new(0));
        let pipeline = Pipeline::new(Box::new(Gate(opens, sent.clone())), Box::new(Empty(sent.clone(), 0)));
        let liveness = Liveness::new(0, 1);
        let exchange = |bytes: usize| {
            let number = pipeline.put(bytes, |buffer| buffer.len());
            pipeline.complete(&liveness, number, |_| Ok(())).unwrap();
        };
        let wait_until = |waiting: u32, used: usize| {
            let is_so = |queue: &Queue| queue.waiting == waiting && queue.used == used;
            while !is_so(&lock(&pipeline.queue)) {
                std::thread::yield_now();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| exchange(100));
            // The one that sends has taken its request.
            while lock(&pipeline.queue).sender.is_some() {
                std::thread::yield_now();
            }
            for _ in 0..LONGEST + 2 {
                scope.spawn(|| exchange(MAX_REQUEST));
            }
            wait_until(2, LONGEST * MAX_REQUEST);
            // All posted ones wait, either for credits or until nobody sends.
            for _ in 0..3 {
                scope.spawn(|| pipeline.post(&liveness, BATCH / 2, |_| ()).unwrap());
            }
            wait_until(2 + 3, LONGEST * MAX_REQUEST + BATCH);
            let mut queue = lock(&pipeline.queue);
            assert_eq!(queue.check_credits(1), Err(Full));
            // Who has something under way does not wait.
            assert_eq!(queue.window(100, &mut |_| unreachable!("it is full"), &mut false), Err(Full));
            drop(queue);
            drop(gate);
        });
        assert_eq!(sent.load(Ordering::SeqCst), 100 + (LONGEST + 2) * MAX_REQUEST + 3 * (BATCH / 2));
    }
}
