// Rosenbrock methods, of Kaps-Rentrop form as KPP has them (Sandu et al., Atmos. Environ. 31 (1997)):
//
//     (I / (gamma h) - J) k_i = f(y + sum_j A_ij k_j) + sum_j C_ij k_j / h
//     y(t + h) = y + sum_i m_i k_i,   embedded error = sum_i e_i k_i
#pragma once

namespace solver {

// Order 4 with an embedded order 3, three evaluations of f: Shampine, ACM Trans. Math. Softw. 8 (1982).
struct Shampine {
  static constexpr int STAGES = 4, ORDER = 4;
  static constexpr double GAMMA = 0.5;
  static constexpr double A[4][4] = {{}, {2}, {48 / 25.0, 6 / 25.0}, {}};
  static constexpr double C[4][4] = {
      {}, {-8}, {372 / 25.0, 12 / 5.0}, {-112 / 125.0, -54 / 125.0, -2 / 5.0}};
  static constexpr double M[4] = {19 / 9.0, 0.5, 25 / 108.0, 125 / 108.0};
  static constexpr double E[4] = {17 / 54.0, 7 / 36.0, 0, 125 / 108.0};
  static constexpr bool NEW_F[4] = {true, true, true, false};  // else that of the stage before
};

// Order 4 with an embedded order 3, stiffly accurate, six evaluations of f: Hairer & Wanner, Solving
// Ordinary Differential Equations II (1996), section VII.4.
struct Rodas4 {
  static constexpr int STAGES = 6, ORDER = 4;
  static constexpr double GAMMA = 0.25;
  static constexpr double A[6][6] = {
      {},
      {1.544},
      {0.9466785280815826, 0.2557011698983284},
      {3.314825187068521, 2.896124015972201, 0.9986419139977817},
      {1.221224509226641, 6.019134481288629, 12.53708333932087, -0.6878860361058950},
      {1.221224509226641, 6.019134481288629, 12.53708333932087, -0.6878860361058950, 1}};
  static constexpr double C[6][6] = {
      {},
      {-5.6688},
      {-2.430093356833875, -0.2063599157091915},
      {-0.1073529058151375, -9.594562251023355, -20.47028614809616},
      {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160},
      {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136,
       -6.058818238834054}};
  static constexpr double M[6] = {
      1.221224509226641, 6.019134481288629, 12.53708333932087, -0.6878860361058950, 1, 1};
  static constexpr double E[6] = {0, 0, 0, 0, 0, 1};
  static constexpr bool NEW_F[6] = {true, true, true, true, true, true};
};

}  // namespace solver
