/**
 * Operations that move elements.
 */
import { MatrixOperations } from './gpu-matrix.js';

/** Operations that move elements and compute nothing. */
export abstract class MovementOperations extends MatrixOperations {}
