/**
 * Every limit of models that tabs share. Times are in milliseconds.
 */

/** Between two beats: questions whether the engine is there, which a tab asks while one of its calls waits. */
export const BEAT_MS = 400;
/**
 * Nothing is counted of a beat that comes this long after the one before: the tab that asks was held up itself, or its
 * machine is. Timers of tabs in the background come once a second, and count.
 */
export const LATE_MS = 1200;
/** Silence after which the seat is taken from a thread that has announced no long work: six beats, 2.4 to 2.8 s. */
export const SILENT_MS = 2200;
/** Silence after which it is taken from one that has: it loads, reads a text or a file, or has the model on the CPU. */
export const BUSY_MS = 10_000;
/** How long nobody else takes a seat that was just taken: until all have heard of the new engine. */
export const TAKING_MS = 2000;
/** After which a tab that got the seat knows whether it still has it: a frozen one may have lost it meanwhile. */
export const SETTLE_MS = 20;
/** After which a text that is over gives its turn to others, though nobody has asked for its end. */
export const UNREAD_MS = 1000;
/** How long a SharedWorker stays for tabs that are about to ask, after the last one has gone. */
export const GRACE_MS = 3000;
/**
 * After which a SharedWorker that has said nothing is connected to again, doubled each time: one that was about to end
 * when the tab came hears nothing.
 */
export const AGAIN_MS = 500;
/** How long a SharedWorker may take to begin. */
export const PATIENCE_MS = 20_000;
/** How often in a row a SharedWorker may end before it has loaded the model. */
export const MOST_LOSSES = 2;
/** How often in a row a call is made again after a move. */
export const MOST_MOVES = 3;
